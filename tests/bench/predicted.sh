#!/bin/sh
# SPDX-License-Identifier: MIT
# What inspect predicts a training step to take beside what it takes, for ten depth mixers:
#   sh tests/bench/predicted.sh STRATA [ROUNDS]
# A round (5 by default) measures the machine, 'strata doctor --measure', then each mixer in turn: a
# prediction and a median step.  Medians; the last column is of predictions over steps of the same
# round.  Nothing else may run meanwhile; the measurement that the user had is replaced.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-5}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
folder=
. "$here/results.sh"

# spec NAME MIXER
spec() {
    cat > "$folder/$1.lua" <<SPEC
return model {
  name = "$1", vocab = 256, context = 256, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 }, residual = $2,
  layers = times(12, layer {
    attention { heads = 8, rope = { theta = 10000 } },
    mlp { hidden = 1024, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 1e-3 }, batch = 4 },
}
SPEC
    "$strata" build "$folder/$1.lua" -o "$folder/$1"
    mixers="$mixers $1"
}
mixers=
spec standard 'standard {}'
spec rezero 'rezero {}'
spec highway 'highway {}'
spec denseformer 'denseformer {}'
spec attnres_full 'attnres { full = true }'
spec attnres_blocks 'attnres { blocks = 4 }'
spec haares 'haares { blocks = 4 }'
spec hyper 'hyper { streams = 4 }'
spec mhc 'mhc { streams = 4 }'
spec gated_residual 'gated_residual { streams = 4, rank = 16 }'

round=0
while [ $round -lt "$rounds" ]; do
    "$strata" doctor --measure > /dev/null
    for mixer in $mixers; do
        echo "$mixer" \
            "$("$strata" inspect "$folder/$mixer.lua" | awk '$1 == "predicted" { print $2 }')" \
            "$("$folder/$mixer" bench --train --steps 5 |
                awk '$1 == "seconds" { print 1000 * $2 }')"
    done
    round=$((round + 1))
done | awk -f "$here/median.awk" -f /dev/fd/3 3<<'AWK'
!n[$1]++ { name[++names] = $1 }
{ predicted[$1, n[$1]] = $2; step[$1, n[$1]] = $3 }
END {
    printf "%-16s %12s %12s %8s\n", "", "predicted ms", "step ms", "ratio"
    for (i = 1; i <= names; i++) {
        for (k = 1; k <= n[name[i]]; k++) {
            p[k] = predicted[name[i], k]
            s[k] = step[name[i], k]
            q[k] = p[k] / s[k]
        }
        printf "%-16s %12.1f %12.1f %8.3f\n", name[i], middle(p, k - 1), middle(s, k - 1),
               middle(q, k - 1)
    }
}
AWK
