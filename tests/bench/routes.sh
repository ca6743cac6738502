#!/bin/sh
# SPDX-License-Identifier: MIT
# Does work follow the tokens that routes take?  A model of 32 layers, two of three routed, and the
# same without routes, in interleaved rounds; shares of the tokens are forced (bench
# --routed-share).
#   sh tests/bench/routes.sh STRATA [ROUNDS]        STRATA is the compiler; ROUNDS (3)
# By environment:
#   LENGTHS="2048 8192"       prompts read, one at a time
#   TRAIN="2048"              windows trained on, one at a time
#   SHARES="1 0.5 0.25 0.1 0" shares of the attention's table; 1 comes first
#   SHARE=0.1                 the share of the comparison with the dense twin
#   STEPS=3 PRECISION=f32 RESULTS=FOLDER        as in speed.sh; ROUNDS 0 prints what is in RESULTS
# Prints, of medians: what a prompt's routed attention takes, kernels and products of routed
# layers, beside s^2 pairs + s (q, k) + (v, o) of what it takes at share 1; the speed-up over the
# twin beside what the FLOPs that are executed allow; and what lists, gather and scatter take, and
# the router's products.
# Nothing else should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-3}
lengths=${LENGTHS-2048 8192} train=${TRAIN-2048}
shares=${SHARES:-1 0.5 0.25 0.1 0} share=${SHARE:-0.1} steps=${STEPS:-3}
folder=${RESULTS:-}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
. "$here/results.sh"

write_spec() {
    cat <<SPEC
local layers = {}
for i = 0, 31 do
  layers[#layers + 1] = layer {
    route = i % 3 ~= 0 and $2 or nil,
    attention { heads = 8, rope = { theta = 10000 } },
    mlp { hidden = 1280, activation = "swiglu" },
  }
end
return model {
  name = "$1", vocab = 256, context = 8192, dim = 480, norm = rmsnorm { eps = 1e-5 },
  layers = layers,
}
SPEC
}

# Adds to the file of a measurement: "ROUND tokens/s", then its kernels,
# "ROUND NAME FAMILY CALLS SECONDS".
measure() {     # measure ROUND MODEL train|prefill LENGTH SHARE
    set -- "$@" --steps "$steps" --json
    if [ "$2" = routed ]; then set -- "$@" --routed-share "$5"; fi
    if [ "$3" = train ]; then
        set -- "$@" --train --batch 1 --length "$4"
    else
        set -- "$@" --prefill "$4"
    fi
    to=$folder/$3.$4.$2.$5 id=$1 program=$folder/$2
    shift 5
    "$program" bench "$@" | tr '{' '\n' | awk -v id="$id" '
        function value(key) {
            if (!match($0, "\"" key "\": \"?[-_A-Za-z0-9.+]+")) return ""
            return substr($0, RSTART, RLENGTH)
        }
        function word(key,    s) { s = value(key); sub(/^.*: "?/, "", s); return s }
        word("tokens_per_second") != "" { print id, word("tokens_per_second") }
        word("calls") != "" {
            print id, word("name"), word("family"), word("calls"), word("seconds")
        }' >> "$to"
}

if [ "$rounds" -gt 0 ]; then
    write_spec dense nil > "$folder/dense.lua"
    write_spec routed 'dtr {}' > "$folder/routed.lua"
    for model in dense routed; do
        "$strata" build "$folder/$model.lua" --precision "${PRECISION:-f32}" -o "$folder/$model"
    done
    for length in $lengths $train; do
        "$strata" inspect "$folder/routed.lua" --json --routed-share "$share" --length "$length" |
            tr '{' '\n' |
            sed -n 's/.*"executed": \([0-9.e-]*\), "training": \([0-9.e-]*\)}.*/\1 \2/p' |
            tail -n 1 > "$folder/allowed.$length"
    done
fi
round=0 now=$(date +%s)
while [ $round -lt "$rounds" ]; do
    for length in $train; do
        measure "$now.$round" dense train "$length" 1
        measure "$now.$round" routed train "$length" "$share"
    done
    for length in $lengths; do
        measure "$now.$round" dense prefill "$length" 1
        for s in $shares; do measure "$now.$round" routed prefill "$length" "$s"; done
    done
    round=$((round + 1))
done
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, $(nproc) processors, $(date -u +%F)"
awk -v folder="$folder" -v lengths="$lengths" -v train="$train" -v shares="$shares" \
    -v share="$share" -f "$here/median.awk" -f "$here/routes.awk"
