#!/bin/sh
# SPDX-License-Identifier: MIT
# What sublayers cost, each as a ratio of runs that take turns:
#   sh tests/bench/sublayers.sh STRATA [ROUNDS]
#   growth     a training step and prefill of kda layers, per token, at 16384 tokens over 2048
#   window     the same of attention with a window of 256, and without
#   experts    products of 16 experts, 2 for each token, over those of one MLP as wide as the two
#   latent     decoding of mla layers after 2048 tokens, over the time in which this machine moves
#              the bytes and multiplies the numbers, as 'bench' says it
#   mixers     a training step of the small Kimi Linear, AttnRes and HAARES over standard
# Medians of ROUNDS (5).  Nothing else may run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-5}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
folder=
. "$here/results.sh"

# spec NAME CONTEXT LAYERS: a program of that name
spec() {
    cat > "$folder/$1.lua" <<SPEC
return model {
  name = "$1", vocab = 256, context = $2, dim = 256, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 }, layers = times(8, layer { $3 }),
}
SPEC
    "$strata" build "$folder/$1.lua" -o "$folder/$1"
}

# seconds PROGRAM ARGUMENTS: of the median step
seconds() {
    program=$folder/$1
    shift
    "$program" bench --steps 3 "$@" | awk '$1 == "seconds" { print $2 }'
}

# products PROGRAM: milliseconds a step in products of experts, or in those of an MLP
products() {
    "$folder/$1" bench --train --batch 2 --steps 3 |
        awk '$1 ~ /^expert_linear|^linear.*_(512x256|256x512)$/ { sum += $4 } END { print sum }'
}

# token PROGRAM THREADS: seconds of a decoded token, and at the speed of memory and arithmetic
token() {
    "$folder/$1" bench --decode 64 --prompt 2048 --threads "$2" --json | tr '{,}' '\n' |
        awk '$1 == "\"tokens_per_second\":" { rate = $2 }
             $1 == "\"floor_tokens_per_second\":" { floor = $2 }
             END { print 1 / rate, 1 / floor }'
}

# ratio NAME SCALE A B: medians over rounds of scale times what command A prints over that of B
ratio() {
    round=0
    while [ $round -lt "$rounds" ]; do
        echo "$($3) $($4)"
        round=$((round + 1))
    done | awk -v name="$1" -v scale="$2" -f "$here/median.awk" -f /dev/fd/3 3<<'AWK'
{ a[NR] = $1; b[NR] = $2; q[NR] = scale * $1 / $2 }
END {
    printf "%-34s %8.3f   (%.4g over %.4g)\n", name, middle(q, NR), middle(a, NR), middle(b, NR)
}
AWK
}

spec kda 16384 'kda { heads = 4, head_dim = 64, gate_rank = 64 }'
spec window 16384 'attention { heads = 4, window = 256 }'
spec whole 16384 'attention { heads = 4 }'
spec experts 1024 'moe { experts = 16, top = 2, hidden = 256 }'
spec dense 1024 'mlp { hidden = 512 }'
for heads in 2 4 8 16 32; do
    spec latent$heads 4096 "mla { heads = $heads, nope_dim = 16, rope_dim = 64, value_dim = 16,
        latent = 512 }"
done
for mixer in standard attnres haares; do
    "$strata" build "$here/../../specs/kimi/small-$mixer.lua" -o "$folder/$mixer"
done

for model in kda window whole; do
    ratio "$model: training, 16384 over 2048" 0.125 \
        "seconds $model --train --batch 1 --length 16384" \
        "seconds $model --train --batch 1 --length 2048"
    ratio "$model: prefill, 16384 over 2048" 0.125 "seconds $model --prefill 16384" \
        "seconds $model --prefill 2048"
done
ratio 'products of experts over dense' 1 'products experts' 'products dense'
for heads in 2 4 8 16 32; do
    for threads in 1 2; do
        ratio "mla: decoding, $heads heads, $threads threads" 1 "token latent$heads $threads" true
    done
done
for mixer in attnres haares; do
    ratio "small Kimi Linear, $mixer" 1 "seconds $mixer --train --batch 2" \
        'seconds standard --train --batch 2'
done
