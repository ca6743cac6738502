#!/bin/sh
# SPDX-License-Identifier: MIT
# Every command that writes, killed by SIGKILL with all its processes, in the middle: while it
# compiles (its cc kills it), and before the file that it writes has its name (fsync does).  What is
# left then the same command finds, says and removes, and ends as if nothing had been there; what
# is not a dead command's of this user and this host stays.
#   sh tests/killed.sh STRATA
set -u
. "$(dirname "$0")/support/work.sh"
mkdir bin
fail() { echo "killed.sh: $*" >&2; cat err said >&2; exit 1; }

cat >m.lua <<'END'
return model { name = "m", vocab = 256, context = 32, dim = 16, tokenizer = "bytes",
  norm = rmsnorm {},
  layers = times(1, layer { attention { heads = 2, rope = {} },
                            mlp { hidden = 32, activation = "swiglu" } }) }
END
yes 'the quick brown fox jumps over the lazy dog' | head -c 3000 >text
python3 -c 'import json, struct
def tensor(at): return {"dtype": "I32", "shape": [1, 4], "data_offsets": [at, at + 16]}
head = json.dumps({"tokens": tensor(0), "targets": tensor(16)}).encode()
open("ids", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<8i", *range(1, 9)))' ||
    exit 1
{ "$strata" build m.lua -o m && ./m train --data text --steps 2 --out w --quiet &&
    "$strata" export m.lua --weights w --to hf hf &&
    "$strata" export m.lua --weights w --to hf old; } >said 2>err || fail "fixtures"

# What kills: all processes of the command's group.
cat >bin/cc <<'END'
#!/bin/sh
touch "$TMPDIR/cc-left.o"
kill -9 0
END
chmod +x bin/cc
cat >kill.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
int fsync(int fd) {
    const char *in = getenv("KILL_IN");
    if (in && strncmp(program_invocation_short_name, in, strlen(in))) return 0;
    return fd < 0 ? -1 : kill(0, SIGKILL);
}
END
cc -shared -fPIC -o kill.so kill.c || exit 1

left() {
    find . -name '*strata-tmp' -prune -print -o -name '*strata-old' -prune -print \
        -o -path './tmp/*' -prune -print -o -name 'new-*' -print
}
by_cc() { PATH="$work/bin:$PATH" setsid -w sh -c "$1"; }
by_fsync() { LD_PRELOAD="$work/kill.so" setsid -w sh -c "$1"; }
by_training() { KILL_IN=model- by_fsync "$1"; }
# killed HOW LINE: and again, without, which says what it found; a third time it finds nothing.
tried=0
killed() {
    rm -rf out*
    how=$1 line=$2
    (by_"$how" "$line") >said 2>err </dev/null
    [ $? = 137 ] || fail "$line: was not killed"
    things=$(left)
    [ -n "$things" ] || fail "$line: killed by $how, left nothing"
    find . -empty -path '*strata-*' -exec touch -d '1 minute ago' {} + # none that begins just now
    (eval "$line") >said 2>err </dev/null || fail "$line, after it was killed"
    for thing in $things; do
        grep -q "^note: .*${thing#./}, which a.* left: removed\$" err ||
            fail "$line: does not say that it found $thing"
    done
    [ -z "$(left)" ] || fail "$line: left $(left)"
    rm -rf out*
    (eval "$line") >said 2>err </dev/null || fail "$line, a third time"
    grep "^note: .*left" err && fail "$line: finds what is not there"
    tried=$((tried + 1))
}
S="\"$strata\""
killed cc "$S build m.lua -o out"
killed cc "$S build m.lua -o out.so --emit shared"
killed cc "rm -rf cache/strata; $S run m.lua info"
killed cc "rm -rf cache/strata; mkdir -p -m 777 cache/strata; $S run m.lua info"
rm -rf cache
killed cc "$S compare m.lua m.lua --train text --steps 2 --seeds 1"
while read -r line; do
    killed fsync "$line"
done <<END
$S build m.lua -o out
$S build m.lua -o out.o --emit obj
$S inspect m.lua -o out.html
$S compare m.lua m.lua -o out.html
$S compare m.lua m.lua --train text --steps 2 --keep out
$S tokens text --spec m.lua -o out
$S tokenizer train text --vocab 300 -o out.json
$S weights strip w -o out
$S quantize w --spec m.lua -o out
$S export m.lua --weights w --to gguf out.gguf
$S export m.lua --weights w --to hf out
$S export m.lua --weights w --to hf old --overwrite
$S import hf -o out
./m train --data text --steps 2 --out out --quiet
./m logits -w w --tokens ids --out out
./m gradients -w w --tokens ids --out out
END

# A run that was finished but for its weights is not made again: they are named only.
(by_training "$S compare m.lua m.lua --train text --steps 2 --keep kept") >said 2>err
kept=$(find kept -name '*strata-tmp') && [ -n "$kept" ] || fail "no weights that were not whole"
(eval "$S compare m.lua m.lua --train text --steps 2 --keep kept") >said 2>err || fail "compare"
grep -q "^note: $kept: left by a command that was killed" err || fail "compare does not name $kept"
rm -rf kept tmp/*

# In caches too: kernels and programs that nobody ended writing.
again() {
    (eval "$1") >said 2>err </dev/null || fail "$1"
    grep -q "^note: .*$2" err || fail "$1 does not say: $2"
}
"$strata" run m.lua info >said 2>err && program=$(find cache -name m) || fail "no program"
rm -rf out* cache/strata/kernels/* "$program"
echo half >cache/strata/kernels/new-1-0123456789abcdef && : >"$program.new"
again "$S build m.lua -o out" 'strata/kernels: 1 file, which a command that was killed left: rem'
again "$S run m.lua info" "$program.new, which a command that was killed left: removed\$"
[ -z "$(left)" ] && [ ! -e "$program.new" ] || fail "caches keep $(left)"

# What is not a dead command's of this user and host stays, and hinders nobody.
host=$(uname -n | cut -c 1-32 | tr -c 'A-Za-z0-9_\n' _)
quiet() {
    (eval "$1") >said 2>err </dev/null || fail "$1"
    ! grep "^note: .*left" err || fail "$1: takes it for left"
}
mkdir mine && : >mine/file
mkdir "tmp/strata-work-$host-HELD00" "tmp/strata-work-$host" tmp/strata-mine-AAAAAA \
    "tmp/strata-work-$host-AA/" "tmp/strata-work-$host-AAAA.A" tmp/strata-work-elsewhere-AAAAAA
for folder in tmp/*; do : >"$folder/file"; done
ln -s "$work/mine" "tmp/strata-work-$host-LINK00"
mkdir -m 777 "tmp/strata-work-$host-ANYONE" && : >"tmp/strata-work-$host-ANYONE/file"
: >"tmp/strata-work-$host-FILE00" && mkfifo "tmp/strata-work-$host-FIFO00"
stay="HELD00 LINK00 ANYONE FILE00 FIFO00 AA AAAA.A"
if [ "$(id -u)" = 0 ]; then
    mkdir "tmp/strata-work-$host-OTHERS" && chown 1 "tmp/strata-work-$host-OTHERS"
    stay="$stay OTHERS"
fi
again "flock tmp/strata-work-$host-HELD00 $S build m.lua -o out" \
    'tmp/strata-work-elsewhere-AAAAAA: left by a command of another host'
[ "$(grep -c '^note' err)" = 1 ] || fail "says more"
for name in $stay; do
    [ -e "tmp/strata-work-$host-$name" ] || fail "removed the folder $name"
done
[ -e mine/file ] && [ -d tmp/strata-mine-AAAAAA ] && [ -d tmp/strata-work-elsewhere-AAAAAA ] ||
    fail "removed another's folder"
again "$S build m.lua -o out" "tmp/strata-work-$host-HELD00, which a command that was killed left"
rm -rf tmp/*
mkdir "tmp/strata-work-$host-FRESH0" # by a process that is about to lock it, perhaps
quiet "$S build m.lua -o out"
touch -d '1 minute ago' "tmp/strata-work-$host-FRESH0"
again "$S build m.lua -o out" "tmp/strata-work-$host-FRESH0, which a command that was killed left"

# Beside an output: another process writes it, it is a link, another user's; others are named.
refused() {
    if (eval "$1") >said 2>err </dev/null; then fail "$1: not refused"; fi
    grep -q "^error: $2" err || fail "$1 does not say: $2"
}
rm -rf out*
refused "flock out.strata-tmp $S build m.lua -o out" 'out: another process is writing this file'
rm out.strata-tmp && ln -s mine/file out.strata-tmp
refused "$S build m.lua -o out" 'out.strata-tmp: expected a regular file or a new name, found a sym'
rm out.strata-tmp
if [ "$(id -u)" = 0 ]; then
    : >out.strata-tmp && mkdir outs.strata-tmp && chown 1 out.strata-tmp outs.strata-tmp
    refused "$S build m.lua -o out" "out.strata-tmp: expected no such file, .* found another user's"
    refused "$S export m.lua --weights w --to hf outs" \
        "outs.strata-tmp: expected it to be free for a folder, found another user's"
    rm -rf out*
fi
mkdir theirs.strata-tmp && cp text theirs.strata-tmp && cp text mine/b.strata-tmp &&
    ln -s text link.strata-tmp
again "$S build m.lua -o mine/out" 'mine/b.strata-tmp: left by a command that was killed'
again "$S export m.lua --weights w --to hf outs" 'theirs.strata-tmp: left by a command that'
quiet "flock mine/b.strata-tmp flock theirs.strata-tmp $S build m.lua -o mine/out"
mkdir old.strata-old && cp text old.strata-old
again "./m train --data text --steps 1 --out outw --quiet" 'old.strata-old: what was there before'
[ -e mine/b.strata-tmp ] && [ -d theirs.strata-tmp ] && [ -L link.strata-tmp ] &&
    [ -d old.strata-old ] || fail "removed what it names only"
echo "killed and begun again: $tried commands"
