#!/bin/sh
# SPDX-License-Identifier: MIT
# Training steps with generated products, OpenBLAS's and those that 'auto' chose, in turns:
#   sh tests/bench/blas.sh STRATA [ROUNDS] [LAYERS]       5 rounds; 24 layers, D 512, hidden 2048
# 'auto' is what STRATA doctor --measure found: run that first. STEPS (3) of a measurement.
# Columns: medians of tokens/s; of time over generated's; of auto's time over the faster one's, 1.02
# at most. Nothing else should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-5} layers=${3:-24} folder=
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
. "$here/results.sh"
cat >"$folder/m.lua" <<SPEC
return model {
  name = "m", vocab = 256, context = 512, dim = 512, norm = rmsnorm { eps = 1e-6 },
  residual = standard {},
  layers = times($layers, layer {
    attention { heads = 8, rope = { theta = 10000 } },
    mlp { hidden = 2048, activation = "swiglu" },
  }),
}
SPEC
ways='generated openblas auto'
for way in $ways; do "$strata" build "$folder/m.lua" --blas $way -o "$folder/$way"; done
round=0
while [ $round -lt "$rounds" ]; do
    for way in $ways; do
        "$folder/$way" bench --train --batch 2 --steps "${STEPS:-3}" --blas built --json |
            sed -n "s/.*\"tokens_per_second\": *\([-0-9.e+]*\).*/$way \1/p"
    done
    round=$((round + 1))
done >"$folder/rounds"
sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
"$folder/openblas" info | grep '^built'
"$folder/auto" info | sed -n 's/^built.*products: /auto: /p'
awk -f "$here/median.awk" -f "$here/blas.awk" "$folder/rounds"
