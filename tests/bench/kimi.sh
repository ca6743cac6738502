#!/bin/sh
# SPDX-License-Identifier: MIT
# The small Kimi Linear beside transformers (eager, float32), seconds of each and how many times as
# fast ours is, in runs that take turns:
#   sh tests/bench/kimi.sh STRATA PYTHON [ROUNDS]
#   train      a training step of 2 x 1024 tokens
#   kda        one KDA layer at 2048 tokens, forward and backward; ours has the rest of a training
#              step besides: embedding, head, loss and optimizer
#   prefill    1024 tokens
#   decode     a token after 512
# PYTHON has torch and transformers of a version that knows kimi_linear.  Medians of ROUNDS (5).
# Nothing else may run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 python=$2 rounds=${3:-5}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OMP_WAIT_POLICY=passive
folder=
. "$here/results.sh"

cat > "$folder/kda.lua" <<'SPEC'
return model {
  name = "kda", vocab = 256, context = 2048, dim = 256, norm = rmsnorm { eps = 1e-5 },
  layers = { layer { kda { heads = 4, head_dim = 64, gate_rank = 64 } } },
}
SPEC
"$strata" build "$folder/kda.lua" -o "$folder/kda"
"$strata" build "$here/../../specs/kimi/small-standard.lua" -o "$folder/kimi"

# seconds PROGRAM ARGUMENTS: of a step, the median
seconds() {
    program=$folder/$1
    shift
    "$program" bench "$@" | awk '$1 == "seconds" { print $2 }'
}

# beside NAME STEPS PROGRAM ARGUMENTS: STEPS of theirs
beside() {
    name=$1 steps=$2
    shift 2
    round=0
    while [ $round -lt "$rounds" ]; do
        echo "$(seconds "$@") $("$python" "$here/kimi.py" "$name" "$steps")"
        round=$((round + 1))
    done | awk -v name="$name" -f "$here/median.awk" -f /dev/fd/3 3<<'AWK'
{ a[NR] = $1; b[NR] = $2; q[NR] = $2 / $1 }
END { printf "%-10s %10.5f %10.5f %8.1f\n", name, middle(a, NR), middle(b, NR), middle(q, NR) }
AWK
}

printf '%-10s %10s %10s %8s\n' '' ours theirs times
beside train 2 kimi --train --batch 2 --steps 5
beside kda 3 kda --train --batch 1 --length 2048 --steps 5
beside prefill 5 kimi --prefill 1024 --steps 5
beside decode 20 kimi --decode 64 --prompt 512
