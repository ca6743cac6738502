#!/bin/sh
# Training speed beside PyTorch, in interleaved rounds on this machine:
#   [MIXERS="standard attnres haares full hyper"] sh tests/bench/training_peer.sh STRATA PEER [ROUNDS]
# STRATA is the compiler, PEER the command that runs the peer's script, for
# example "python3 torch_step.py": it takes --mixer --layers --dim --hidden
# --heads --batch --seq --steps and prints one JSON line with "tok_s" and
# "rss_mib".  Prints medians, ratios and peak memory.  Nothing else should run.
set -eu
strata=$1 peer=$2 rounds=${3:-5} mixers=${MIXERS:-standard attnres haares}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OMP_WAIT_POLICY=passive
for mixer in $mixers; do
    case $mixer in
        standard) residual='standard {}' ;;
        full) residual='attnres { full = true }' ;;
        hyper) residual='hyper { streams = 4 }' ;;
        *) residual="$mixer { blocks = 4 }" ;;
    esac
    cat > "$work/$mixer.lua" <<SPEC
return model {
  name = "$mixer", vocab = 256, context = 512, dim = 128, norm = rmsnorm { eps = 1e-6 }, residual = $residual,
  layers = times(12, layer { attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = 1024, activation = "swiglu" } }),
}
SPEC
    "$strata" build "$work/$mixer.lua" -o "$work/$mixer"
done
number() { sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p"; }
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
round=0
while [ $round -lt "$rounds" ]; do
    for mixer in $mixers; do
        "$work/$mixer" bench --train --batch 4 --length 512 --steps 5 --json > "$work/out"
        number tokens_per_second < "$work/out" >> "$work/$mixer.ours"
        number peak_memory_bytes < "$work/out" >> "$work/$mixer.memory"
        $peer --mixer $mixer --layers 12 --dim 128 --hidden 1024 --heads 4 --batch 4 --seq 512 --steps 3 > "$work/out"
        number tok_s < "$work/out" >> "$work/$mixer.peer"
        number rss_mib < "$work/out" >> "$work/$mixer.rss"
    done
    round=$((round + 1))
done
printf '%-10s %12s %12s %7s %12s %12s\n' mixer 'ours tok/s' 'peer tok/s' ratio 'ours MiB' 'peer MiB'
for mixer in $mixers; do
    ours=$(median "$work/$mixer.ours") theirs=$(median "$work/$mixer.peer")
    memory=$(median "$work/$mixer.memory") rss=$(median "$work/$mixer.rss")
    awk -v m=$mixer -v a="$ours" -v b="$theirs" -v c="$memory" -v d="$rss" \
        'BEGIN { printf "%-10s %12.0f %12.0f %7.2f %12.0f %12.0f\n", m, a, b, a / b, c / 1048576, d }'
done
paste "$work/standard.ours" "$work/haares.ours" | awk '{ print $1 / $2 - 1 }' | sort -n |
    awk '{ v[NR] = $1 } END { printf "haares costs %.1f %% of a standard step, median of rounds\n", 100 * v[int((NR + 1) / 2)] }'
