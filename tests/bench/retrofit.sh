#!/bin/sh
# SPDX-License-Identifier: MIT
# Mixers under weights that were trained with a plain residual stream: what they compute before the
# first step, and what training recovers.  The table and the picture of docs/retrofit.md:
#   sh tests/bench/retrofit.sh STRATA SPEC WEIGHTS TEXT VAL [NAME ...]
# SPEC (retrofit.lua) has no residual, and adamw { }; WEIGHTS are its own.  STEPS=500, LR=5e-4,
# FOLDER=retrofit for programs, weights and logs, of which those that are there are used again.
# Writes FOLDER/table.md and FOLDER/curves.svg.
set -eu
usage="usage: retrofit.sh STRATA SPEC WEIGHTS TEXT VAL [NAME ...]"
strata=$(realpath "${1:?$usage}") spec=${2:?$usage} weights=${3:?$usage} text=${4:?$usage}
val=${5:?$usage}
shift 5
here=$(cd "$(dirname "$0")" && pwd)
folder=${FOLDER:-retrofit} steps=${STEPS:-500}
mkdir -p "$folder"

# NAME|what it is: as published, and with the start that computes the same where that is another
mixers() {
    sed 's/^ *//' <<'END'
    standard|standard {}
    rezero|rezero {}
    rezero_equal|rezero { init = "residual" }
    layerscale|layerscale {}
    layerscale_equal|layerscale { init = "residual" }
    highway|highway {}
    highway_equal|highway { init = "residual" }
    residual_gate|residual_gate {}
    residual_gate_equal|residual_gate { init = "residual" }
    residual_scaling|residual_scaling {}
    depth_scaled|depth_scaled {}
    denseformer|denseformer {}
    attnres_full|attnres { full = true }
    attnres_blocks|attnres { blocks = 4 }
    attnres_sigmoid|attnres { blocks = 4, kernel = "sigmoid" }
    attnres_window|attnres { full = true, window = 4 }
    attnres_linear|attnres { blocks = 4, kernel = "linear" }
    haares|haares { blocks = 4 }
    haares_equal|haares { blocks = 4, init = "residual" }
    hyper|hyper { streams = 4 }
    hyper_unmixed|hyper { streams = 4, mix = false }
    mhc|mhc { streams = 4 }
    mhc_equal|mhc { streams = 4, init = "residual" }
    mhc_lite|mhc { streams = 4, lite = true }
    mhc_lite_equal|mhc { streams = 4, lite = true, init = "residual" }
    gated_residual|gated_residual { streams = 4, rank = 16 }
    gated_residual_equal|gated_residual { streams = 4, rank = 16, init = "residual" }
    drr|drr { heads = 4, causal = true, chunk = 32 }
    drr_equal|drr { heads = 4, causal = true, chunk = 32, init = "residual" }
END
}

# Token ids of the beginning of VAL, bytes: [8, 128], as safetensors.
write_tokens() {
    header='{"tokens":{"dtype":"I32","shape":[8,128],"data_offsets":[0,4096]}}'
    # shellcheck disable=SC2059
    printf "\\$(printf %o ${#header})\\0\\0\\0\\0\\0\\0\\0"
    printf '%s' "$header"
    # shellcheck disable=SC2059
    printf "$(head -c 1024 "$val" | od -An -v -to1 |
        awk '{ for (i = 1; i <= NF; i++) printf "\\%s\\0\\0\\0", $i }')"
}

run() {     # run NAME MIXER
    at=$folder/$1
    [ -e "$at.jsonl" ] && grep -q "\"step\": $steps, \"val_loss\"" "$at.jsonl" && return
    echo "$1" >&2
    sed -e "s/name = \"[^\"]*\"/name = \"$1\", residual = $2/" \
        -e "s/adamw {[^}]*}/adamw { lr = ${LR:-5e-4} }/" "$spec" >"$at.lua"
    "$strata" build "$at.lua" -o "$at" >/dev/null
    "$at" train --data "$val" --init "$weights" --steps 0 --out "$at.0.safetensors" >/dev/null 2>&1
    "$at" logits --weights "$at.0.safetensors" --tokens "$folder/tokens.safetensors" \
        --out "$at.logits"
    "$at" train --data "$text" --val "$val" --init "$weights" --steps "$steps" \
        --eval-every $((steps / 10)) --save-every "$steps" --data-seed 7 --threads "${THREADS:-1}" \
        --out "$at.safetensors" --log "$at.jsonl" >/dev/null 2>&1
}

row() {     # row NAME MIXER
    "$strata" weights diff "$folder/standard.logits" "$folder/$1.logits" |
        awk -v mixer="$2" -v log_file="$folder/$1.jsonl" -v last="\"step\": $steps," '
            /^differs by/ { apart = $3 / $5 }
            END {
                while ((getline line < log_file) > 0)
                    if (match(line, /"val_loss": [0-9.e-]*/)) {
                        loss = substr(line, RSTART + 12, RLENGTH - 12)
                        if (!n++) first = loss
                        if (index(line, last)) after = sprintf("%.4f", loss)
                    }
                printf "| `%s` | %s | %.4f | %s |\n", mixer,
                    apart == 0 ? "0" : sprintf("%.1g", apart), first, after
            }'
}

chosen() {   # chosen NAME LIST
    case " $2 " in *" $1 "*) ;; *) [ -z "$2" ] || return 1 ;; esac
}

[ -e "$folder/tokens.safetensors" ] || write_tokens >"$folder/tokens.safetensors"
mixers | while IFS='|' read -r name mixer; do
    [ "$name" = standard ] || chosen "$name" "$*" || continue
    run "$name" "$mixer"
done
{
    echo "| mixer | logits apart | loss before | after $steps steps |"
    echo "|---|---|---|---|"
    mixers | while IFS='|' read -r name mixer; do
        [ -e "$folder/$name.jsonl" ] || continue
        row "$name" "$mixer"
    done
} >"$folder/table.md"
mixers | cut -d'|' -f1 | awk -v folder="$folder" -f "$here/retrofit.awk" >"$folder/curves.svg"
cat "$folder/table.md"
