#!/bin/sh
# SPDX-License-Identifier: MIT
# Speed and memory beside PyTorch, in interleaved rounds on this machine, as one table:
#   sh tests/bench/speed.sh STRATA [ROUNDS]         STRATA is the compiler; ROUNDS (3) of every row
# By environment:
#   ROWS="d512-* decode"      rows, as patterns of their names in the table below (all); rows that
#                             they are measured against are added
#   PEER="python3 torch_step.py"   runs the peer: it takes --mode --mixer --layers --dim --hidden
#                             --heads --kv-heads --vocab --batch --seq --steps --dtype --compile
#                             and prints one JSON line with "tok_s" and "rss_mib"; without it only
#                             ours and the floors
#   COMPILE=1                 measures the peer with --compile too, in rows that ask for it
#   STEPS=5 PEER_STEPS=3      steps of a measurement
#   RESULTS=FOLDER            keeps programs and measurements there and adds to those of earlier
#                             calls, so that a table can be made row by row; ROUNDS 0 prints it; a
#                             program is built anew, and its measurements go, when STRATA is newer
#                             than it
# Columns: speed.awk.  Nothing else should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-3}
wanted=${ROWS:-*} peer=${PEER:-} steps=${STEPS:-5} peer_steps=${PEER_STEPS:-3}
folder=${RESULTS:-}
. "$here/results.sh"
mkdir -p "$folder/rows"

# What must hold: N x of the peer ("eager", "compile") or of another row of ours; N % of the floor
# (bytes over measured bandwidth, in decoding), or of the peer's memory.  amx:, noamx: on
# processors with it or without.
table() {
    cat <<ROWS
d128-standard         train   d128  standard f32  1.6xcompile
d128-attnres          train   d128  attnres  f32  1.8xcompile
d128-haares           train   d128  haares   f32  2.0xcompile
d128-full             train   d128  full     f32  3.5xeager
d128-hyper            train   d128  hyper    f32  -
d512-standard         train   d512  standard f32  1.4xcompile 65%memory
d512-attnres          train   d512  attnres  f32  1.4xcompile
d512-haares           train   d512  haares   f32  1.5xcompile 0.96xd512-standard 45%memory
vocab                 train   vocab standard f32  1.8xeager 1.8xcompile
d128-standard-bf16    train   d128  standard bf16 amx:3xcompile noamx:1.5xd128-standard
d128-attnres-bf16     train   d128  attnres  bf16 amx:3xcompile amx:0.92xd128-standard-bf16 \
                                                  noamx:1.5xd128-attnres
d128-haares-bf16      train   d128  haares   bf16 amx:3xcompile amx:0.92xd128-standard-bf16 \
                                                  noamx:1.5xd128-haares
d512-standard-bf16    train   d512  standard bf16 amx:2.4xcompile noamx:1.5xd512-standard
d512-attnres-bf16     train   d512  attnres  bf16 amx:2.7xcompile noamx:1.5xd512-attnres
d512-haares-bf16      train   d512  haares   bf16 amx:3.2xcompile noamx:1.5xd512-haares \
                                                  0.92xd512-standard-bf16
vocab-bf16            train   vocab standard bf16 amx:3xcompile noamx:1.5xvocab
prefill               prefill smol  standard f32  1.6xeager
prefill-bf16          prefill smol  standard bf16 1.7xeager
decode                decode  smol  standard f32  90%floor
decode-bf16           decode  smol  standard bf16 90%floor
prefill-attnres       prefill smol  attnres  f32  0.98xprefill
prefill-attnres-bf16  prefill smol  attnres  bf16 0.95xprefill-bf16
decode-attnres        decode  smol  attnres  f32  0.99xdecode
decode-attnres-bf16   decode  smol  attnres  bf16 0.99xdecode-bf16
ROWS
}

# Sets dim, hidden, heads, kv_heads, vocab, layers, batch and seq of a shape; smol is
# specs/papers/smollm-360m.lua.
shape() {
    case $1 in
        d128) set -- 128 1024 4 4 256 12 4 512 ;;
        d512) set -- 512 2048 8 8 256 24 2 512 ;;
        vocab) set -- 768 2048 12 12 50257 12 4 256 ;;
        smol) set -- 960 2560 15 5 49152 32 1 512 ;;
    esac
    dim=$1 hidden=$2 heads=$3 kv_heads=$4 vocab=$5 layers=$6 batch=$7 seq=$8
}

residual() {
    case $1 in
        standard) echo 'standard {}' ;;
        full) echo 'attnres { full = true }' ;;
        hyper) echo 'hyper { streams = 4 }' ;;
        *) echo "$1 { blocks = 4 }" ;;
    esac
}

write_spec() {
    if [ "$1" = smol ]; then
        sed "s/^  layers = /  residual = $(residual "$2"),\n&/" \
            "$here/../../specs/papers/smollm-360m.lua"
        return
    fi
    shape "$1"
    cat <<SPEC
return model {
  name = "$1_$2", vocab = $vocab, context = $seq, dim = $dim, norm = rmsnorm { eps = 1e-6 },
  residual = $(residual "$2"),
  layers = times($layers, layer {
    attention { heads = $heads, rope = { theta = 10000 } },
    mlp { hidden = $hidden, activation = "swiglu" },
  }),
}
SPEC
}

# Rows that are wanted and those that they are measured against, in the table's order.
chosen() {
    table | awk -v wanted="$1" '
        function against(word) {
            sub(/^[a-z]*:/, "", word)
            return match(word, /^[0-9.]+x/) ? substr(word, RLENGTH + 1) : ""
        }
        BEGIN {
            count = split(wanted, pattern, " ")
            for (i = 1; i <= count; i++) {
                gsub(/\./, "[.]", pattern[i])
                gsub(/\*/, ".*", pattern[i])
            }
        }
        {
            line[NR] = $0
            name[NR] = $1
            for (i = 1; i <= count; i++) if ($1 ~ "^(" pattern[i] ")$") take[$1] = 1
        }
        END {
            for (turn = 1; turn <= 2; turn++)
                for (r = 1; r <= NR; r++) {
                    fields = split(line[r], field, " ")
                    for (i = 6; i <= fields && take[name[r]]; i++) take[against(field[i])] = 1
                }
            for (r = 1; r <= NR; r++) if (take[name[r]]) print line[r]
        }'
}

# One program for all rows of a shape, mixer and precision.
program() { echo "$folder/$2-$3-$4"; }

newer() { [ -n "$(find "$1" -newer "$2" 2> /dev/null)" ]; }

build() {
    at=$(program "$1" "$3" "$4" "$5")
    if [ ! -x "$at" ] || newer "$strata" "$at"; then
        kind=
        if [ "$3" = smol ]; then kind=--inference; fi
        rm -f "$at"
        write_spec "$3" "$4" > "$at.lua"
        # shellcheck disable=SC2086
        "$strata" build "$at.lua" --precision "$5" --blas generated $kind -o "$at" 2> "$at.error" ||
            echo "$1 is skipped: $(head -n 1 "$at.error")" >&2
    fi
    newer "$folder/rows/$1" "$at" || rm -f "$folder/rows/$1"
}

number() { sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p"; }
plain() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$@"; }

# The floor that bench printed, or that 'meanwhile_': of float32 that of multiply-adds in vectors,
# even where tiles multiply it faster.
floor() {
    found=$(number "vector_floor_$1tokens_per_second" < "$folder/out")
    echo "${found:-$(number "floor_$1tokens_per_second" < "$folder/out")}"
}

# "tokens/s floor bytes" of ours.
ours() {
    shape "$3"
    case $2 in
        train) set -- "$@" --train --batch "$batch" --length "$seq" --steps "$steps" ;;
        prefill) set -- "$@" --prefill "$seq" --batch "$batch" --steps "$steps" ;;
        decode) set -- "$@" --decode 32 --prompt "$seq" --batch "$batch" ;;
    esac
    at=$(program "$1" "$3" "$4" "$5")
    shift 5
    plain "$at" bench "$@" --json > "$folder/out" || return 1
    floor=$(floor '')
    memory=$(number peak_memory_bytes < "$folder/out")
    echo "$(number tokens_per_second < "$folder/out") $floor $memory"
}

# "tokens/s MiB" of the peer, "- -" where it has none.
theirs() {
    shape "$3"
    # shellcheck disable=SC2086
    if plain OMP_WAIT_POLICY=passive $peer --mode "$2" --mixer "$4" --dtype "$5" --dim $dim \
        --hidden $hidden --heads $heads --kv-heads $kv_heads --vocab $vocab --layers $layers \
        --batch $batch --seq $seq --steps "$peer_steps" $6 \
        > "$folder/out" 2> "$folder/peer.error"; then
        echo "$(number tok_s < "$folder/out") $(number rss_mib < "$folder/out")"
    else
        echo "$1: the peer failed: $(tail -n 1 "$folder/peer.error")" >&2
        echo '- -'
    fi
}

# Adds a line to the row's measurements: round, ours, eager, compiled, our floor meanwhile.
measure() {
    id=$1 eager='- -' compiled='- -'
    shift
    [ -x "$(program "$1" "$3" "$4" "$5")" ] || return 0
    us=$(ours "$1" "$2" "$3" "$4" "$5") || { echo "$1: bench failed" >&2; return 0; }
    meanwhile=$(floor meanwhile_)
    if [ -n "$peer" ]; then
        eager=$(theirs "$1" "$2" "$3" "$4" "$5" '')
        case ${COMPILE:-}:$* in
            1:*xcompile*) compiled=$(theirs "$1" "$2" "$3" "$4" "$5" --compile) ;;
        esac
    fi
    echo "$id $us $eager $compiled $meanwhile" >> "$folder/rows/$1"
}

set -f      # patterns of rows are no files
chosen "$wanted" > "$folder/chosen"
[ -s "$folder/chosen" ] || {
    echo "no row is called $wanted; there are: $(table | awk '{ printf "%s ", $1 }')" >&2
    exit 2
}
if [ "$rounds" -gt 0 ]; then
    # shellcheck disable=SC2086
    while read -r row; do build $row; done < "$folder/chosen"
fi
round=0 now=$(date +%s)
while [ $round -lt "$rounds" ]; do
    # shellcheck disable=SC2086
    while read -r row; do measure "$now.$round" $row < /dev/null; done < "$folder/chosen"
    round=$((round + 1))
done
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, $(nproc) processors, $(date -u +%F)"
amx=noamx
if grep -q amx_bf16 /proc/cpuinfo; then amx=amx; fi
awk -v folder="$folder/rows" -v amx="${AMX:-$amx}" -f "$here/median.awk" -f "$here/speed.awk" \
    "$folder/chosen"
