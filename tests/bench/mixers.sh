#!/bin/sh
# SPDX-License-Identifier: MIT
# What three depth mixers learn from one text: 24 layers of the small family
# (D 128, hidden 1024, 8 heads), 4 windows of 256 bytes a step, the same initial
# weights and the same order of data for all three, a tenth of the text kept for
# validation.  sh tests/bench/mixers.sh STRATA TEXT [STEPS] [SEEDS] [FOLDER]
# Prints training loss (mean of the last tenth of the steps) and validation loss
# per seed; logs and checkpoints stay in FOLDER when it is given.
# MIXERS: other mixers than "standard attnres haares"; PRECISION=bf16: models of that build.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 text=$2 steps=${3:-1000} seeds=${4:-2} folder=${5:-}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
. "$here/results.sh"
mixers=${MIXERS:-standard attnres haares}
for mixer in $mixers; do
    case $mixer in standard) residual='standard {}' ;; *) residual="$mixer { blocks = 4 }" ;; esac
    cat > "$folder/$mixer.lua" <<SPEC
return model {
  name = "$mixer", vocab = 256, context = 256, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 }, residual = $residual,
  layers = times(24, layer {
    attention { heads = 8, rope = { theta = 10000 } },
    mlp { hidden = 1024, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 1e-3 },
            schedule = cosine { warmup = 0.05, min_lr = 1e-4 },
            batch = 4 },
}
SPEC
    "$strata" build "$folder/$mixer.lua" --precision "${PRECISION:-f32}" -o "$folder/$mixer"
done
printf '%-10s %5s %12s %12s %12s %10s\n' mixer seed 'train loss' 'val loss' 'best val' seconds
seed=1
while [ "$seed" -le "$seeds" ]; do
    for mixer in $mixers; do
        run="$folder/$mixer.$seed"
        "$folder/$mixer" train --data "$text" --val-share 0.1 --eval-every $((steps / 4)) \
            --save-every "$steps" --steps "$steps" --seed "$seed" --data-seed "$seed" \
            --out "$run.safetensors" --log "$run.jsonl" > "$run.out" 2>&1
        awk -v mixer=$mixer -v seed="$seed" -v steps="$steps" '
            function value(key) {
                if (!match($0, "\"" key "\": *[-0-9.e+]+")) return ""
                return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
            }
            value("loss") != "" && value("step") > steps * 0.9 { sum += value("loss"); count++ }
            value("seconds") != "" { last = value("seconds"); total += last }
            value("val_loss") != "" {
                val = value("val_loss")
                if (best == "" || val < best) best = val
            }
            END {
                printf "%-10s %5d %12.4f %12.4f %12.4f %10.0f\n",
                    mixer, seed, sum / count, val, best, total
            }' "$run.jsonl"
    done
    seed=$((seed + 1))
done
