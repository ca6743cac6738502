#!/bin/sh
# SPDX-License-Identifier: MIT
# strata compare --keep: what is done is not done again, what was killed goes on; --sweep; lines of
# progress where there is no terminal.
#   sh tests/keep.sh STRATA
set -u
strata=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
export LC_ALL=C
fail() { echo "keep.sh: $*" >&2; cat out err 2>/dev/null; exit 1; }

spec() {    # spec NAME RESIDUAL
    cat >"$1.lua" <<END
return model {
  name = "$1", vocab = 256, context = 16, dim = 16, tokenizer = "bytes",
  norm = rmsnorm {}, residual = $2,
  layers = times(2, layer { attention { heads = 2 }, mlp { hidden = 32, activation = "swiglu" } }),
  train = { optimizer = adamw { lr = 3e-3 }, schedule = cosine { warmup = 0.1, min_lr = 1e-5 },
            batch = 2, seed = 3 },
}
END
}
spec plain 'standard {}'
spec blocks 'haares { blocks = 2 }'
yes 'the quick brown fox jumps over the lazy dog' | head -c 20000 >text
compare() { "$strata" compare plain.lua blocks.lua --train text --threads 1 --json "$@"; }
# losses alone: times are never the same
losses() { grep -o '"\(cross_entropy\|val_loss\)": \[[^]]*\]' "$1"; }

# == Done once =================================================================
compare --steps 30 --seeds 4,5 >whole 2>err || fail "without --keep: $(cat err)"
compare --steps 30 --seeds 4,5 --keep kept >out 2>err || fail "with --keep: $(cat err)"
[ "$(losses out)" = "$(losses whole)" ] || fail "expected the same losses with --keep"
[ "$(find kept -name '*.jsonl' | wc -l) $(find kept -name '*.safetensors' | wc -l)" = "4 4" ] ||
    fail "expected four runs, found $(ls kept)"
[ "$(find kept -type f | wc -l)" = 8 ] || fail "expected nothing else, found $(ls kept)"
[ "$(cat kept/*.jsonl | grep -c '"steps": 30,')" = 4 ] || fail "expected logs that say 30 steps"
stat -c '%n %Y %Z %s' kept/* >before
compare --steps 30 --seeds 4,5,6 --keep kept >out 2>err || fail "with another seed: $(cat err)"
[ "$(stat -c '%n %Y %Z %s' kept/* | grep -cxFf before)" = 8 ] || fail "a run was made again"
[ "$(find kept -name '*.jsonl' | wc -l)" = 6 ] || fail "expected two runs more, found $(ls kept)"
# Logs alone tell the numbers.
mkdir logs && cp -p kept/*-[45]-*.jsonl logs
stat -c '%n %Y %s' logs/* >before
compare --steps 30 --seeds 4,5 --keep logs >out 2>err || fail "logs alone: $(cat err)"
[ "$(losses out)" = "$(losses whole)" ] || fail "expected the same losses of logs alone"
[ "$(stat -c '%n %Y %s' logs/*)" = "$(cat before)" ] || fail "a run with a log was made again"
# a step during which the process was stopped counts as the median one
sed -i '/"step": 9,/s/"seconds": [0-9.e-]*/"seconds": 4000/' logs/*-4-*.jsonl
[ "$(cat logs/*-4-*.jsonl | grep -c '"seconds": 4000')" = 2 ] || fail "expected pauses in logs"
compare --steps 30 --seeds 4,5 --keep logs >out 2>err || fail "a log with a pause: $(cat err)"
grep -o '"seconds": \[[^]]*\]' out | tr -dc '0-9.,\n' | tr , '\n' | awk '
    $1 > 0 { n++ } $1 > 4000 { late = 1 } END { exit n != 120 || late }' ||
    fail "expected 30 times of each of four runs, without pauses"
# another text of the same model is the same run
sed -i 's/^return model/-- a comment\nreturn model/; s/times(2/times(1 + 1/' plain.lua
compare --steps 30 --seeds 4,5 --keep logs >out 2>err || fail "another text: $(cat err)"
[ "$(find logs -name '*.jsonl' | wc -l)" = 4 ] || fail "a comment makes another run: $(ls logs)"
# another text, length, spec, or rate is another run
compare --steps 29 --seeds 4 --keep kept >out 2>err || fail "other steps"
echo more >>text
compare --steps 30 --seeds 4 --keep kept >out 2>err || fail "another text"
sed -i 's/3e-3/2e-3/' plain.lua
compare --steps 30 --seeds 4 --keep kept >out 2>err || fail "another spec"
[ "$(find kept -name '*.jsonl' | wc -l)" = 11 ] || fail "expected 11 runs, found $(ls kept)"

# == Killed ====================================================================
# Without a terminal there is a line every few seconds; then the end comes without warning, far from
# the last step: four times as many steps where the first line is of the second half.
steps=400 killed=
while [ -z "$killed" ] && [ $steps -lt 1000000 ]; do
    steps=$((steps * 4))
    half=half_$steps
    rm -f err
    (exec "$strata" compare plain.lua blocks.lua --train text --threads 1 --json \
        --steps $steps --seeds 4 --keep $half >out 2>err) &
    child=$!
    while kill -0 $child 2>/dev/null; do
        at=$(grep '^training plain, seed 4, 1 of 2: step ' err 2>/dev/null | head -n 1)
        at=${at#*: step } at=${at%% *}
        if [ -n "$at" ]; then
            kill -9 $child 2>/dev/null && [ "$at" -lt $((steps / 2)) ] && killed=yes
            break
        fi
        sleep 0.2
    done
    wait $child 2>/dev/null
done
[ -n "$killed" ] || fail "expected a line of progress within $steps steps"
grep -Eq '^training plain, seed 4, 1 of 2: step [0-9]+ of [0-9]+, loss .*, [0-9hms]+ left$' err ||
    fail "expected step, loss and time in a line"
# its program is told, saves, and ends
n=0
until step=$(tail -n 1 $half/*.jsonl | grep -o '"step": [0-9]*' | tr -dc 0-9) && sleep 1 &&
    [ "$(tail -n 1 $half/*.jsonl | grep -o '"step": [0-9]*' | tr -dc 0-9)" = "$step" ]; do
    n=$((n + 1))
    [ $n -lt 60 ] || fail "the program goes on without who started it"
done
[ "$step" -gt 0 ] && [ "$step" -lt $steps ] || fail "expected it killed before step $steps"
cp $half/*.jsonl cut.jsonl

# Told to stop, it says how to go on.
rm -f err
(exec "$strata" compare plain.lua blocks.lua --train text --threads 1 --json \
    --steps $steps --seeds 4 --keep $half >out 2>err) &
child=$!
while kill -0 $child 2>/dev/null && ! grep -q '^training plain' err 2>/dev/null; do sleep 0.2; done
kill -TERM $child
wait $child && fail "expected a status of a signal"
grep -q 'stopped by signal 15; the same command goes on where it was$' err ||
    fail "expected how to go on: $(tail -n 1 err)"
compare --steps $steps --seeds 4 --keep $half >out 2>err || fail "cannot go on: $(cat err)"
[ "$(head -n 3 cut.jsonl)" = "$(head -n 3 $half/plain-4-*.jsonl)" ] ||
    fail "expected it to go on after step $step, found it begun anew"

# == Rates =====================================================================
compare --steps 12 --seeds 7,8 --keep rates \
    --sweep lr=1e-9,1e-2,1e6 --json >out 2>err || fail "--sweep: $(cat err)"
[ "$(grep -c '"sweep": \[{"lr": 1e-09' out)" = 2 ] || fail "expected what each rate came to"
[ "$(grep -o '"lr": 0.01, "seconds_to_match"' out | wc -l)" = 2 ] ||
    fail "expected the rate that learns to be taken"
# three rates from the first seed, one from the other
[ "$(find rates -name 'plain-7-*.jsonl' | wc -l) $(find rates -name 'plain-8-*.jsonl' | wc -l)" = \
    "3 1" ] || fail "found $(ls rates)"
for key in '"made": {"date": "20' '"processor": ' '"load": ' '"name": "text", "bytes": ' \
    '"seeds_that_would_show_it"' '"difference_that_seeds_can_show"'; do
    grep -q "$key" out || fail "expected $key"
done
echo "keep: a kept comparison, one killed after step $step of $steps, a sweep"
