#!/bin/sh
# SPDX-License-Identifier: MIT
# strata compare with programs that run: what is measured and trained is told, a program's
# failure becomes compare's, and nothing is left behind, however it ends.
#   sh tests/compare.sh STRATA
set -u
strata=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
mkdir tmp
export TMPDIR="$work/tmp" LC_ALL=C
fail() { echo "compare.sh: $*" >&2; cat out err 2>/dev/null; exit 1; }
clean() { [ -z "$(ls -A tmp)" ] || fail "left in TMPDIR: $(ls -A tmp)"; }

spec() {    # spec NAME RESIDUAL LR
    cat >"$1.lua" <<END
return model {
  name = "$1", vocab = 256, context = 16, dim = 16, tokenizer = "bytes",
  norm = rmsnorm {}, residual = $2,
  layers = times(2, layer { attention { heads = 2 }, mlp { hidden = 32, activation = "swiglu" } }),
  train = { optimizer = adamw { lr = $3 }, schedule = constant {}, batch = 2, seed = 3 },
}
END
}
spec plain 'standard {}' 3e-3
spec blocks 'haares { blocks = 2 }' 3e-3
spec wild 'standard {}' 1e30
yes 'the quick brown fox jumps over the lazy dog' | head -c 20000 >text

"$strata" compare plain.lua blocks.lua --measure --rounds 2 --threads 1 \
    --train text --steps 12 --seeds 4,5 --json -o page.html >out 2>err || fail "exit status $?"
clean
# What it is doing is told from the beginning, though standard error is no terminal.
[ "$(head -n 1 err)" = 'planning plain.lua, 1 of 2' ] || fail "expected what is done to be told"
for key in '"verdict"' '"code_bytes"' '"compile_seconds"' '"slower"' '"detected"' \
    '"tokens_per_second"' '"seed": 4' '"seed": 5' '"val_loss"' '"seconds_to_match"' \
    '"depth_mixing": \['; do
    grep -q "$key" out || fail "expected $key"
done
for word in 'plain' 'blocks' 'Loss at equal tokens' 'Loss at equal time' 'Roofline' \
    'Depth mixing' 'Memory over time' 'strata compare plain.lua blocks.lua' \
    'trained, 12 steps from seed 4' 'Kernels line by line' 'class="row new"' \
    'Loss against time per step' '<p class="first">Lowest loss: ' \
    '<p>Operations: ' '<p>Instructions: ' 'haares.lua:'; do
    grep -q "$word" page.html || fail "expected '$word' in the page"
done

[ "$(wc -c <page.html)" -lt 2000000 ] || fail "a page of $(wc -c <page.html) bytes"
for tag in details figure pre svg table div; do
    [ "$(grep -o "<$tag[ >]" page.html | wc -l)" = "$(grep -o "</$tag>" page.html | wc -l)" ] ||
        fail "expected every <$tag> to be closed"
done

# Memory is the program's, whatever was there before it began.
"$strata" build plain.lua -o plain >/dev/null || fail "build"
# A residual stream's weights are a line, no picture: here and in a probe.
./plain train --data text --steps 1 --out plain.st >/dev/null || fail "train"
./plain probe --weights plain.st --data text -o probe.html >out || fail "probe"
grep -q '^weights of reads: all ones, by construction$' out || fail "expected ones"
for page in page probe; do
    [ "$(grep -c 'All ones, by construction' $page.html)" = 1 ] ||
        fail "expected ones in $page.html"
done
if grep -q 'depth-mixing matrix' probe.html; then fail "expected no picture of ones"; fi
peak() {
    ./plain bench --train --steps 1 --json |
        tr ',{' '\n\n' | sed -n 's/.*"peak_memory_bytes": //p'
}
alone=$(peak)
# shellcheck disable=SC2034
beside=$(ballast=$(head -c 60000000 /dev/zero | tr '\0' x); peak)
awk -v a="$alone" -v b="$beside" 'BEGIN { exit !(a > 1e6 && b < a + 3e7) }' ||
    fail "expected a peak of $alone bytes from a large shell too, found $beside"

# A model with a route: the share of the tokens that it takes, which its log has.
routed='activation = "swiglu" }, route = mod { capacity = 0.25 } }'
sed -e 's/"plain"/"routed"/' -e "s/activation = \"swiglu\" } }/$routed/" plain.lua >routed.lua
"$strata" compare plain.lua routed.lua --train text --steps 20 --json -o page.html >out 2>err ||
    fail "exit status $?"
grep -q 'as if each took every token' page.html || fail "expected a note on the numbers of routes"
grep -q '"routes": \[0.25, 0.25\]' out || fail "expected the shares of two routes"
grep -q 'its routes took 25.0 % of the tokens at the end' out ||
    fail "expected the share in the verdict"
grep -q 'FLOPs of training with these: -' out || fail "expected less work than without a route"
grep -q 'Tokens that routes take' page.html || fail "expected a picture of the shares"
clean

# The same spec twice: equal in all that does not hang on time, and the same losses to the last
# bit, on files with weights and evaluated on two.
printf '{"body":"%s"}\n' "$(seq 500 | tr '\n' ' ')" >lines.jsonl
"$strata" tokens text -o text.bin --spec plain.lua >/dev/null || fail "expected a token file"
"$strata" compare plain.lua plain.lua --train text.bin:2 lines.jsonl:1 --val text lines.jsonl \
    --field body --steps 5 >out 2>err || fail "exit status $?"
grep -q 'same memory traffic, same memory. Parameters equal, FLOPs of training equal' out ||
    fail "expected the same spec to be equal to itself"
grep -q '+0.0000 (one seed' out || fail "expected the same losses"
clean

# A program's failure: its words, its exit status.
"$strata" compare plain.lua wild.lua --train text --steps 50 >out 2>err
status=$?
[ $status = 6 ] || fail "training that diverges: exit status $status"
grep -q '^error: wild: its program: ' err || fail "expected the program's words"
clean

# Stopped while a program runs.
for signal in INT TERM; do
    [ $signal = INT ] && wanted=130 || wanted=143
    # a shell's background job ignores SIGINT; env gives it back
    env --default-signal=INT "$strata" compare plain.lua blocks.lua --train text \
        --steps 1000000 -o late.html >out 2>err &
    child=$!
    until ls tmp/*/*.jsonl >/dev/null 2>&1; do
        kill -0 $child 2>/dev/null || break
        sleep 0.05
    done
    kill -$signal $child
    wait $child
    status=$?
    [ $status = $wanted ] || fail "SIG$signal: exit status $status"
    [ ! -e late.html ] || fail "SIG$signal: a page of what was not done"
    clean
done
echo "measured, trained, failed and stopped: all told, nothing left"
