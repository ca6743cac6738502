#!/bin/sh
# SPDX-License-Identifier: MIT
# The cache of strata run:  sh tests/cache.sh STRATA
# Processes that find nothing there at once all run; what is damaged is built again, and said to
# be; what somebody else may have put there is not run.
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "cache.sh: $*" >&2; exit 1; }
mkdir tmp cache
export TMPDIR="$work/tmp" XDG_CACHE_HOME="$work/cache" LC_ALL=C
umask 002

spec() {    # spec NAME
    cat <<END
return model {
  name = "$1", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = times(1, layer { mlp { hidden = 8 } }),
}
END
}
spec lock >lock.lua

# runs [LINE]: the program runs, and nothing but the line is said
runs() {
    "$strata" run lock.lua info >out 2>err || fail "status $?: $(cat err)"
    grep -q '^model  *lock,' out || fail "found: $(cat out)"
    if [ $# = 0 ]; then
        [ ! -s err ] || fail "expected no word, found: $(cat err)"
    else
        [ "$(wc -l <err)" = 1 ] && grep -q -- "$1" err || fail "expected '$1', found: $(cat err)"
    fi
    [ -z "$(ls -A tmp)" ] || fail "expected an empty TMPDIR, found $(ls -A tmp)"
    [ ! -e planted ] || fail "what was planted ran: $1"
}

# == Together ==================================================================
for i in 1 2 3; do
    { "$strata" run lock.lua info >out.$i 2>err.$i; echo $? >status.$i; } &
done
wait
for i in 1 2 3; do
    [ "$(cat status.$i)" = 0 ] || fail "of three at once, number $i: $(cat err.$i)"
    [ ! -s err.$i ] || fail "of three at once, number $i: $(cat err.$i)"
    cmp out.1 out.$i || fail "of three at once, one shows something else"
done
program=$(find cache -name lock -type f)
[ "$(echo "$program" | wc -l)" = 1 ] || fail "expected one program, found $program"
folder=$(dirname "$program")
[ "$(stat -c %a "$program")" = 700 ] || fail "expected a program of mode 700"
ls -A "$folder" | sort >there
printf '%s\n' .lock lock | cmp -s - there || fail "expected the program and its lock in the cache"
before=$(stat -c '%i %y' "$program")
runs
[ "$before" = "$(stat -c '%i %y' "$program")" ] || fail "expected what is there to be run"

# One that is killed while it builds leaves nothing that is in the way.
spec killed >killed.lua
"$strata" run killed.lua info >out 2>&1 &
until [ -n "$(find cache -path '*/.lock' -newer lock.lua ! -path "./$folder/*")" ]; do
    kill -0 $! 2>/dev/null || break
done
kill -9 $! 2>/dev/null || true
wait $! 2>/dev/null || true
rm -rf tmp/*
"$strata" run killed.lua info >out 2>err || fail "after one was killed: $(cat err)"

# == Damage ====================================================================
cp "$program" whole
script() { printf '#!/bin/sh\ntouch %s/planted\n' "$work"; }
# wrong WHAT COMMAND: what becomes of the program; then it is built again
wrong() {
    rm -rf "$program"
    eval "$2"
    runs "^strata run: $work/$program: expected the program of this spec, found $1, built anew\$"
    runs
    cmp -s whole "$program" || fail "expected the same program again, after $2"
}
wrong 'a damaged one' ': >"$program"; chmod 700 "$program"'
wrong 'a damaged one' 'head -c 5000 /dev/urandom >"$program"; chmod 700 "$program"'
wrong 'a damaged one' 'head -c 5000 whole >"$program"; chmod 700 "$program"'
wrong 'a damaged one' 'head -c -1 whole >"$program"; chmod 700 "$program"'
flip() { printf '\1' | dd of="$program" bs=1 seek=9000 conv=notrunc 2>log; }
wrong 'a damaged one' 'cp whole "$program"; flip'
wrong 'a damaged one' 'script >"$program"; chmod 700 "$program"'
wrong 'one that others may write to' 'cp whole "$program"; chmod 770 "$program"'
wrong 'one that others may write to' 'cp whole "$program"; chmod 702 "$program"'
wrong 'a symbolic link' 'ln -s nowhere "$program"'
wrong 'a symbolic link' 'script >s; chmod 755 s; ln -s "$work/s" "$program"'
wrong 'a symbolic link' 'ln -s "$work/whole" "$program"'
wrong 'no regular file' 'mkdir "$program"'
wrong 'no regular file' 'mkdir "$program"; touch "$program/file"'
wrong 'no regular file' 'mkfifo "$program"'
# where it is built and what is locked
rm "$program" && ln -s "$work/whole" "$program.new" && ln -s nowhere "$folder/lock.new.strata-tmp"
rm -f "$folder/lock.new.strata-tmp" "$folder/.lock" && mkdir "$folder/.lock"
runs
[ ! -L "$program.new" ] && [ -f "$folder/.lock" ] || fail "expected links and folders to be gone"
[ "$(stat -c %s whole)" = "$(stat -c %s "$program")" ] || fail "expected the same size again"

# == Others ====================================================================
# apart WHAT FOLDER: it is not used
apart() {
    find cache -ls >before
    runs "^strata run: $work/$2: expected a folder of your own, found $1; \
the program is built without the cache\$"
    find cache -ls >after
    cmp -s before after || fail "expected a folder that is not trusted to stay as it is"
}
for place in cache/strata "$folder"; do
    chmod 777 "$place"
    script >s && cp s "$program" && chmod 755 "$program"
    apart 'one that others may write to' "$place"
    chmod 720 "$place"
    apart 'one that others may write to' "$place"
    chmod 700 "$place"
    rm "$program" && cp whole "$program"
    if [ "$(id -u)" = 0 ]; then
        chown 65534 "$place"
        apart 'one that belongs to another user' "$place"
        chown 0 "$place"
        chown 65534 "$program"
        runs 'found one that belongs to another user, built anew$'
    fi
    runs
done
mv "$folder" moved && ln -s "$work/moved" "$folder"
apart 'a symbolic link or a file' "$folder"
rm "$folder" && mv moved "$folder"
# the cache itself may be a link to where there is room
mv cache/strata roomy && ln -s "$work/roomy" cache/strata
runs

# == Keys ======================================================================
spec lock >same.lua
rm -rf roomy/*
for file in lock.lua same.lua; do "$strata" run $file info >out; done
grep -q 'same.lua' out || fail "expected a program to know its own spec, found: $(cat out)"
sed -i 's/hidden = 8/hidden = 9/' same.lua
"$strata" run same.lua info >out
[ "$(find roomy -name lock -type f | wc -l)" = 3 ] || fail "expected a program for each spec"
find roomy -mindepth 1 -maxdepth 1 | grep -qE '/[0-9a-f]{64}$' || fail "expected SHA-256 as names"
echo "cache: three at once, damage, other users, keys"
