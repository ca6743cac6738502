#!/bin/sh
# SPDX-License-Identifier: MIT
# Training that is killed at random moments loses nothing: every time the newest
# checkpoint loads, and the resumed run ends with the same file, bit for bit, as the
# one that was never stopped.  Also SIGINT and SIGTERM: saved, exit status 130, 143.
# A third of KILLS, or more, leave a checkpoint and steps to go: others follow until they do.
#   sh tests/kill.sh STRATA [KILLS [SEED]]
set -u
strata=$(realpath "$1")
kills=${2:-30}
seed=${3:-$(date +%s%N | cut -c 8-18)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
echo "seed $seed"

fail() { echo "failed: $*"; ls -la; exit 1; }

cat >small.lua <<'END'
return model {
  name = "small", vocab = 256, context = 32, dim = 32, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 }, residual = haares { blocks = 2 },
  layers = times(2, layer {
    attention { heads = 2, rope = { theta = 10000 } },
    mlp { hidden = 64, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 1e-3 },
            schedule = cosine { warmup = 0.1, min_lr = 1e-5 },
            batch = 2, seed = 3 },
}
END
"$strata" build small.lua || exit 1
head -c 20000 "$strata" | od -An -tx1 >text

# The run: saves every third step, so that most kills fall on or near a save.
run() {
    exec ./small train --data text --order random --steps $steps --save-every 3 --threads 2 \
        --out "$@" >out 2>err
}
train() { (run "$@"); }

# Long enough on this machine for a moment to fall into it.
now() { date +%s%N; }
steps=240 duration=0
while [ $duration -lt 400 ]; do
    start=$(now)
    train whole.safetensors --overwrite || fail "the run that is not stopped: $(cat err)"
    duration=$((($(now) - start) / 1000000))
    [ $duration -ge 400 ] || steps=$((steps * 3))
done
echo "a run of $steps steps takes $duration ms"

# Another order of the data ends elsewhere, or the comparison below means nothing.
train other.safetensors --data-seed 9 || fail "another data seed"
if cmp -s whole.safetensors other.safetensors; then
    fail "another data seed ends with the same bits"
fi

# Seconds in [0, duration), the n-th of the seed.
moment() {
    awk -v s="$seed" -v n="$1" -v d="$duration" 'BEGIN {
        srand(s % 2147483647)
        for (i = 0; i < n; i++) x = rand()
        printf "%.3f", int(x * d) / 1000
    }'
}

# The newest valid generation, as text for messages; empty: none yet.
loads() {
    for file in "$1" "$1.prev"; do
        [ -e "$file" ] && ./small eval --weights "$file" --data text --length 32 >/dev/null 2>&1 &&
            echo "$file" && return
    done
}

# Other work on the machine changes how long a run takes: a kill that found it ended shortens
# the time from which moments are drawn, one that found nothing saved yet lengthens it.
between=0 tried=0
while [ $tried -lt "$kills" ] || [ $((between * 3)) -lt "$kills" ]; do
    tried=$((tried + 1))
    [ $tried -le $((kills * 10)) ] ||
        fail "$between of $((tried - 1)) kills fell between the first checkpoint and the last step"
    rm -f run.* out
    (run run.safetensors) &
    child=$!
    sleep "$(moment "$tried")"
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
    newest=$(loads run.safetensors)
    if [ -n "$newest" ]; then
        if cmp -s whole.safetensors "$newest"; then
            duration=$((duration * 9 / 10))
        else
            between=$((between + 1))
        fi
        train run.safetensors --resume || fail "kill $tried: cannot resume: $(cat err)"
    else
        [ ! -e run.safetensors ] || fail "kill $tried: a checkpoint that does not load: $(ls -la)"
        duration=$((duration * 11 / 10 + 1))
        train run.safetensors || fail "kill $tried: cannot start again: $(cat err)"
    fi
    cmp whole.safetensors run.safetensors ||
        fail "kill $tried: the resumed run ends with other bits"
    [ ! -e run.safetensors.strata-tmp ] || fail "kill $tried: a temporary file is left"
done
echo "$tried kills, $between of them with a checkpoint and steps to go: the same bits every time"

for signal in INT TERM; do
    rm -f run.* out
    [ $signal = INT ] && wanted=130 || wanted=143
    (run run.safetensors) &
    child=$!
    until grep -q '^step' out 2>/dev/null; do kill -0 $child 2>/dev/null || break; sleep 0.01; done
    kill -$signal $child
    wait $child
    status=$?
    [ $status = $wanted ] || fail "SIG$signal: exit status $status"
    [ -e run.safetensors ] || fail "SIG$signal: nothing was saved"
    if cmp -s whole.safetensors run.safetensors; then fail "SIG$signal: came after the end"; fi
    train run.safetensors --resume || fail "SIG$signal: cannot resume: $(cat err)"
    cmp whole.safetensors run.safetensors || fail "SIG$signal: the resumed run ends with other bits"
done
echo "SIGINT and SIGTERM: saved, and resumed to the same bits"
