#!/bin/sh
# SPDX-License-Identifier: MIT
# Small weights beside llama.cpp: the shape of SmolLM 360M with random weights, decoding after a
# prompt and reading it, in interleaved rounds: --weights q8 beside Q8_0, q4 beside Q4_0.
#   sh tests/bench/llama.sh STRATA [ROUNDS]         STRATA is the compiler; ROUNDS (5)
# By environment:
#   PYTHON=python3            one that has numpy and llama_cpp:
#                             CMAKE_ARGS=-DGGML_NATIVE=ON pip install llama-cpp-python
#                             (of 0.3.36 with AMX, whose products crash, -DGGML_NATIVE=OFF and
#                             -DGGML_AVX512=ON, .._VBMI, .._VNNI, .._BF16, AVX2, FMA, F16C, BMI2)
#                             PYTHON= measures ours alone
#   TYPES="q8 q4"  PROMPT=512  DECODED=64  STEPS=3  THREADS=N (the processors there are)
#   RESULTS=FOLDER            keeps files, programs and measurements, and adds to those of earlier
#                             calls; ROUNDS 0 prints them
# Weights go their usual way: a Hugging Face folder, strata import, strata export --to gguf (Q8_0 by
# us, Q4_0 of float16 by llama.cpp's own quantiser). Keys and values are float16 there, what build
# makes of them here. Nothing else should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$(realpath "$1") rounds=${2:-5}
python=${PYTHON-python3} types=${TYPES:-q8 q4} prompt=${PROMPT:-512} decoded=${DECODED:-64}
steps=${STEPS:-3} threads=${THREADS:-$(nproc)} folder=${RESULTS:-}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
. "$here/results.sh"
number() { sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p"; }

prepare() {
    for type in $types; do
        "$strata" build "$here/../../specs/papers/smollm-360m.lua" --inference --weights "$type" \
            -o "$folder/$type"
        if [ -n "$python" ] && [ ! -e "$folder/$type.gguf" ]; then prepare_theirs "$type"; fi
    done
}

# llama.cpp's file of the same shape.
prepare_theirs() {      # prepare_theirs TYPE
    [ -e "$folder/smol.safetensors" ] || {
        "$python" "$here/llama.py" folder "$folder/hf"
        "$strata" import "$folder/hf" -o "$folder/smol" --keep bf16
        rm -r "$folder/hf"
    }
    case $1 in q8) to=q8_0 ;; *) to=f16 ;; esac
    "$strata" export "$folder/smol.lua" --weights "$folder/smol.safetensors" --to gguf \
        "$folder/$to.gguf" --type $to
    case $1 in
        q8) mv "$folder/q8_0.gguf" "$folder/q8.gguf" ;;
        *)  "$python" "$here/llama.py" q4_0 "$folder/f16.gguf" "$folder/q4.gguf" \
                2> "$folder/quantiser" || { tail -n 3 "$folder/quantiser" >&2; exit 1; }
            rm "$folder/f16.gguf" ;;
    esac
}

ours() {    # ours TYPE ...: tokens/s of bench
    type=$1
    shift
    "$folder/$type" bench "$@" --threads "$threads" --json | number tokens_per_second
}

measure() {     # measure TYPE
    decode=$(ours "$1" --decode "$decoded" --prompt "$prompt")
    prefill=$(ours "$1" --prefill "$prompt" --steps "$steps")
    their_decode=0 their_prefill=0
    if [ -n "$python" ]; then
        "$python" "$here/llama.py" bench "$folder/$1.gguf" "$prompt" "$decoded" "$threads" \
            "$steps" 2> "$folder/errors" > "$folder/out" ||
            { tail -n 3 "$folder/errors" >&2; exit 1; }
        their_decode=$(number decode < "$folder/out")
        their_prefill=$(number prefill < "$folder/out")
    fi
    echo "decode $1 $decode $their_decode" >> "$folder/measured"
    echo "prefill $1 $prefill $their_prefill" >> "$folder/measured"
}

[ "$rounds" = 0 ] || prepare
round=0
while [ $round -lt "$rounds" ]; do
    for type in $types; do measure "$type"; done
    round=$((round + 1))
done
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, $(nproc) processors, $threads threads, $(date -u +%F)," \
    "load $(cut -d' ' -f1 /proc/loadavg)"
sort "$folder/measured" | awk -v least="decode-q8 1.3 decode-q4 1.3 prefill-q8 1.5" \
    -f "$here/median.awk" -f "$here/llama.awk"
