#!/bin/sh
# SPDX-License-Identifier: MIT
# Decoding of several sequences at once over that of one: the shape of SmolLM 360M, random weights.
#   sh tests/bench/batches.sh STRATA [ROUNDS]       STRATA is the compiler; ROUNDS (5)
# By environment:
#   BATCHES="1 4 16"          sequences; the first one is what others are measured by
#   WEIGHTS=bf16              or q8, q4
#   PROMPT=8 DECODED=12       tokens of a sequence before what is measured, and measured ones
# Columns: medians of tokens/s of all sequences, and of the ratio in the same round. Nothing else
# should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-5} folder=
batches=${BATCHES:-1 4 16} weights=${WEIGHTS:-bf16} prompt=${PROMPT:-8} decoded=${DECODED:-12}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
. "$here/results.sh"
case $weights in
    bf16) set -- --precision bf16 ;;
    *) set -- --weights "$weights" ;;
esac
"$strata" build "$here/../../specs/papers/smollm-360m.lua" --inference "$@" -o "$folder/smol"
round=0
while [ $round -lt "$rounds" ]; do
    for batch in $batches; do
        "$folder/smol" bench --decode "$decoded" --prompt "$prompt" --batch "$batch" --json |
            sed -n "s/.*\"tokens_per_second\": *\([-0-9.e+]*\).*/$batch \1/p"
    done
    round=$((round + 1))
done > "$folder/measured"
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, $(nproc) processors, $(date -u +%F), $weights"
awk -f "$here/median.awk" -f /dev/fd/3 "$folder/measured" 3<<'AWK'
!n[$1]++ { batch[++batches] = $1 }
{ speed[$1, n[$1]] = $2 }
END {
    printf "%9s %10s %7s\n", "sequences", "tokens/s", "ratio"
    for (i = 1; i <= batches; i++) {
        for (k = 1; k <= n[batch[i]]; k++) {
            s[k] = speed[batch[i], k]
            q[k] = s[k] / speed[batch[1], k]
        }
        printf "%9d %10.1f %7.2f\n", batch[i], middle(s, k - 1), middle(q, k - 1)
    }
}
AWK
