#!/bin/sh
# SPDX-License-Identifier: MIT
# The cache of row kernels:  sh tests/kernel_cache.sh STRATA
# What is built is the same byte by byte, whatever of it came from the cache; what is damaged there,
# or somebody else may have put there, is compiled again; and nobody is told.
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "kernel_cache.sh: $*" >&2; exit 1; }
mkdir tmp cache want
export TMPDIR="$work/tmp" XDG_CACHE_HOME="$work/cache" LC_ALL=C
umask 022
kernels=cache/strata/kernels

spec() {    # spec HIDDEN
    cat <<END
return model {
  name = "small", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = times(1, layer {
    attention { heads = 2 }, mlp { hidden = $1, activation = "relu" } }),
  train = { optimizer = adamw { lr = 1e-3 }, batch = 2 },
}
END
}
spec 16 >small.lua
# build FILE OPTION...: builds small.lua, without a word
said=
build() {
    file=$1; shift
    "$strata" build small.lua -o "$file" "$@" >out 2>&1 || fail "build $*: status $?: $(cat out)"
    [ "$(grep -cv "^note: .*$said\$" out)" = 0 ] && { [ -n "$said" ] || [ ! -s out ]; } ||
        fail "build $*: expected '$said', found: $(cat out)"
    [ -z "$(ls -A tmp)" ] || fail "expected an empty TMPDIR, found $(ls -A tmp)"
}
# same WHAT OPTION...: what is built is what is built without the cache
same() {
    what=$1; shift
    build got "$@"
    cmp -s want/got got || fail "$what: expected what is built without the cache"
}
age() { find $kernels -type f -exec touch -d '2 days ago' {} +; }
taken() { find $kernels -type f -mtime -1 | wc -l; }
number() { ls $kernels | wc -l; }

# == Cold, warm, in between ====================================================
build want/got --no-kernel-cache
[ ! -e cache/strata ] || fail "expected --no-kernel-cache to leave no cache"
same cold
all=$(number)
[ "$all" -gt 9 ] || fail "expected kernels in the cache, found $all"
[ -z "$(find $kernels -type f ! -perm 600)" ] || fail "expected files that nobody else reads"
ls $kernels | grep -qvE '^[0-9a-f]{64}$' && fail "expected SHA-256 as names, found $(ls $kernels)"
age
ls -i $kernels >before
same warm
ls -i $kernels | cmp -s - before || fail "expected a warm build to write no kernel"
[ "$(taken)" = "$all" ] || fail "expected a warm build to take $all kernels, found $(taken)"
for file in $(ls $kernels | sed -n 'p;n'); do rm $kernels/$file; done
same 'half of it'
[ "$(number)" = "$all" ] || fail "expected $all kernels again"

# A line that changes: what does not depend on it is taken.
spec 24 >small.lua
build want/got --no-kernel-cache
age
same 'another line'
more=$(($(number) - all))
old=$(($(taken) - more))
[ "$more" -gt 0 ] && [ "$more" -lt "$all" ] || fail "expected some new kernels, found $more"
[ "$old" -gt 3 ] || fail "expected some of $all kernels to be taken, found $old"

# What is said of a kernel but is not its code is no part of it, but for the lines it comes from.
all=$(number)
spec 24 | sed 's/"small"/"other"/; s/1e-3/2e-3/' >small.lua
build want/got --no-kernel-cache
same 'another name and learning rate'
[ "$(number)" = "$all" ] || fail "expected no new kernel for another name and learning rate"
sed -i '1i -- one line more' small.lua
build want/got --no-kernel-cache
same 'lines that moved, which no kernel is of'
[ "$(number)" = "$all" ] || fail "expected no new kernel for lines that no kernel comes from"
# Numbers of a formula are no part of its code, be they equal to others of another line or not.
norms() {    # norms EPS SCALE: a model's eps, and numbers of a mixer whose own eps is 1e-6
    cat <<END
local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, s, site)
    return s.h * rsqrt(mean(s.h * s.h * s.h * s.h, 1) + 1e-6)
  end,
  write = function(m, s, site, out) return { h = $2 ^ site.index * s.h + out } end,
  close = function(m, s) return s.h end,
}
return model { name = "own", vocab = 16, context = 8, dim = 8, norm = rmsnorm { eps = $1 },
  residual = own {}, layers = times(3, layer { mlp { hidden = 8, activation = "relu" } }) }
END
}
norms 1e-6 0.9 >small.lua
build got
all=$(number)
for numbers in '1e-5 0.9' '1e-3 0.9' '1e-6 0.7' '1e-5 1.1'; do
    norms $numbers >small.lua
    build want/got --no-kernel-cache
    same "numbers $numbers"
    [ "$(number)" = "$all" ] || fail "expected no new kernel for the numbers $numbers"
done
norms 1e-6 1 >small.lua
build got
[ "$(number)" -gt "$all" ] || fail "expected new kernels where a factor is 1"
cat >small.lua <<'END'
local own = mixer {
  open = function(m, e) return { h = e } end,
  read = function(m, s, site) return s.h end,
  write = function(m, s, site, out) return { h = s.h + out } end,
  close = function(m, s) return s.h end,
}
return model { name = "own", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, residual = own {},
  layers = times(1, layer { mlp { hidden = 8, activation = "relu" } }) }
END
build got
all=$(number)
sed -i '1i -- one line more' small.lua
build want/got --no-kernel-cache
same 'lines of kernels that moved'
[ "$(number)" -gt "$all" ] || fail "expected kernels of lines that moved to be new"
spec 16 >small.lua
build want/got --no-kernel-cache

# Other things that code depends on, and other kinds of output.
for how in -O0 '--inference -O1' '--cpu x86-64-v2' '--precision bf16' '--emit obj' \
    '--emit shared'; do
    build want/got $how --no-kernel-cache
    same "cold $how" $how
    same "warm $how" $how
done
all=$(number)
build got.ll --emit ir
build got.s --emit asm
build got.check --check
[ "$(number)" = "$all" ] || fail "expected no kernels of what is not linked, or checked"
build want/got --no-kernel-cache

# Three at once.
rm -rf cache/strata
for i in 1 2 3; do
    { "$strata" build small.lua -o got.$i >out.$i 2>&1; echo $? >status.$i; } &
done
wait
for i in 1 2 3; do
    [ "$(cat status.$i)" = 0 ] && [ ! -s out.$i ] || fail "of three at once, $i: $(cat out.$i)"
    cmp -s want/got got.$i || fail "of three at once, $i differs"
done
[ -z "$(find $kernels -name 'new-*')" ] || fail "expected no file that is half written"

# == Damage ====================================================================
set -- $kernels/*
first=$1 second=$2
cp "$first" whole
# wrong WHAT COMMAND: what becomes of a kernel; then it is compiled, and replaced
wrong() {
    rm -rf "$first"
    eval "$2"
    same "$1"
    cmp -s whole "$first" && [ -f "$first" ] && [ ! -L "$first" ] \
        || fail "$1: expected the kernel to be there again"
    [ -z "$(find "$first" -perm /022)" ] || fail "$1: expected a kernel that is mine alone"
}
wrong 'an empty one' ': >"$first"'
wrong 'noise' 'head -c 5000 /dev/urandom >"$first"'
wrong 'a short one' 'head -c 900 whole >"$first"'
wrong 'one without its last byte' 'head -c -1 whole >"$first"'
wrong 'one byte more' '{ cat whole; printf x; } >"$first"'
flip() { cp whole "$first"; printf '\125' | dd of="$first" bs=1 seek=$1 conv=notrunc 2>log; }
for at in 16 200 700; do wrong "another byte at $at" "flip $at"; done
wrong 'another kernel' 'cp "$second" "$first"'
wrong 'a link to nowhere' 'ln -s nowhere "$first"'
wrong 'a link to the kernel' 'ln -s "$work/whole" "$first"'
wrong 'one that others may write to' 'cp whole "$first"; chmod 620 "$first"'
wrong 'one that all may write to' 'cp whole "$first"; chmod 602 "$first"'
wrong 'a pipe' 'mkfifo "$first"'
[ "$(id -u)" != 0 ] || wrong "another user's" 'cp whole "$first"; chown 65534 "$first"'
rm "$first"
mkdir "$first"
same 'a folder'
rmdir "$first"

# == Folders that are not used =================================================
# apart WHAT: nothing is taken from there or put there
apart() {
    find cache -ls >before
    same "$1"
    find cache -ls | cmp -s - before || fail "$1: expected the cache to stay as it is"
}
for place in cache/strata $kernels; do
    for mode in 777 720; do
        chmod $mode $place
        apart "$place of mode $mode"
    done
    chmod 700 $place
    [ "$(id -u)" = 0 ] || continue
    chown 65534 $place
    apart "another user's $place"
    chown 0 $place
done
mv $kernels moved
ln -s "$work/moved" $kernels
apart 'a link'
rm $kernels
touch $kernels
apart 'a file'
rm $kernels
XDG_CACHE_HOME=/proc same 'no room for a cache'
XDG_CACHE_HOME=relative HOME='' same 'no place for a cache'
[ ! -e relative ] || fail "expected a cache with a whole path only"

# == What there is too much of =================================================
mv moved $kernels
name() { printf '%064d' "$1"; }
for i in 1 2 3 4; do
    truncate -s 100M $kernels/$(name $i)
    touch -d "$i days ago" $kernels/$(name $i)
done
touch $kernels/mine
echo half >$kernels/new-1-0123456789abcdef
exec 8>$kernels/new-2-0123456789abcdef
flock 8
said='strata/kernels: 1 file, which a command that was killed left: removed'
same 'a full cache'
exec 8>&-
[ -e $kernels/$(name 1) ] || fail "expected what was used last to stay"
for i in 2 3 4; do
    [ ! -e $kernels/$(name $i) ] || fail "expected what was used $i days ago to go"
done
[ -e "$first" ] && [ -e "$second" ] || fail "expected what is used to stay"
[ -e $kernels/mine ] && [ -e $kernels/new-2-0123456789abcdef ] \
    || fail "expected files to stay that are no kernels, or are being written"
[ ! -e $kernels/new-1-0123456789abcdef ] || fail "expected what nobody ended writing to go"
echo "kernel cache: cold, warm, changed, three at once, damage, folders, room"
