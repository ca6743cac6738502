#!/bin/sh
# SPDX-License-Identifier: MIT
# What recurrences of many small heads cost: a training step of minGRU (heads of one number) and of
# Mamba (of 16) over one of attention, beside the ratio of their FLOPs, as 'compare' counts them.
#   sh tests/bench/small_heads.sh STRATA [ROUNDS]
# Runs take turns; medians of ROUNDS (5).  Nothing else may run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-5}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
folder=
. "$here/results.sh"
cp -r "$here/../../specs/hybrids/shared" "$folder/shared"

# spec NAME SUBLAYERS: a program of that name
spec() {
    cat > "$folder/$1.lua" <<SPEC
return model {
  name = "$1", vocab = 256, context = 512, dim = 512, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 }, layers = times(6, layer { $2 }),
}
SPEC
    "$strata" build "$folder/$1.lua" -o "$folder/$1"
}

# flops NAME: of a training step, over those of the standard one
flops() {
    "$strata" compare "$folder/standard.lua" "$folder/$1.lua" --json |
        grep -o '"flops_per_token": *{[^}]*}' | sed 's/.*"training": *//; s/}//' |
        awk '{ x[NR] = $1 } END { print x[2] / x[1] }'
}

spec standard 'attention { heads = 8 }, mlp { hidden = 1536 }'
spec mingru 'require "shared.mingru" {}, mlp { hidden = 1536 }'
spec mamba 'require "shared.mamba" { inner = 1024 }'
round=0
while [ "$round" -lt "$rounds" ]; do
    for name in standard mingru mamba; do
        "$folder/$name" bench --train --batch 2 --steps 3 |
            awk '$1 == "seconds" { print $2 }' >> "$folder/$name.seconds"
    done
    round=$((round + 1))
done
for name in mingru mamba; do
    time=$(paste "$folder/$name.seconds" "$folder/standard.seconds" |
        awk '{ print $1 / $2 }' | sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }')
    echo "$name $time $(flops $name)" |
        awk '{ printf "%-8s time %.2f, FLOPs %.2f of a standard step: %.2f times what they say\n",
               $1, $2, $3, $2 / $3 }'
done
