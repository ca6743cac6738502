#!/bin/sh
# SPDX-License-Identifier: MIT
# So many inputs of our own mutations to every reader of files, and how many a second that are:
#   sh tests/fuzz/count.sh BUILD COUNT [SEED [NAME ...]]      NAME: json, tokenizer_json, ...
# BUILD has the fuzzers built, with sanitizers or without (-DSTRATA_SANITIZE=ON).  Without NAME: the
# readers of what is not trusted, one after another.  JOBS processes (all processors) share the
# seeds from SEED (1) on, in pieces of PIECE inputs (100000), so that a campaign that was stopped
# goes on with another SEED.  A finding's seed is told, and that of its piece: NAME_fuzz 1 SEED
# repeats it.  Exit status 1 where there is one.
set -u
usage="usage: count.sh BUILD COUNT [SEED [NAME ...]]"
build=$(cd "${1:?$usage}" && pwd) count=${2:?$usage} seed=${3:-1}
shift $(($# < 3 ? $# : 3))
jobs=${JOBS:-$(nproc)} piece=${PIECE:-100000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
[ "$piece" -le "$count" ] || piece=$count
readers="import json safetensors weights tokenizer_json tokenizer_model tokenizer_ranks ggufvocab"
names=${*:-$readers tokens token_file jsonl documents checkpoint log}

failed=0
for name in $names; do
    fuzzer=$build/tests/${name}_fuzz
    [ -x "$fuzzer" ] || { echo "$fuzzer: not built" >&2 && exit 2; }
    began=$(date +%s.%N)
    mkdir -p "$work/$name"
    # the number of each piece's first input, its seed and how many it has
    awk -v n="$count" -v piece="$piece" -v seed="$seed" 'BEGIN {
        for (i = 0; i < n; i += piece)
            printf "%d %.0f\n", n - i < piece ? n - i : piece, seed + i }' |
        xargs -P "$jobs" -n 2 sh -c '"$1" "$3" "$4" >"$2/$4.out" 2>&1 ||
            mv "$2/$4.out" "$2/$4.bad"' sh "$fuzzer" "$work/$name"
    ended=$(date +%s.%N)
    cat "$work/$name"/*.out 2>/dev/null | awk -v name="$name" -v s="$began" -v e="$ended" '
        / inputs from seed / { n += $1; accepted += $6 }
        END { printf "%-16s %d inputs, %d accepted, %.0f s, %.0f a second\n", name, n, accepted,
                     e - s, n / (e - s) }'
    for bad in "$work/$name"/*.bad; do
        [ -e "$bad" ] || continue
        failed=1
        echo "$name: inputs from seed $(basename "$bad" .bad): $(tail -n 3 "$bad" | tr '\n' ' ')"
    done
    rm -rf "${work:?}/$name"
done
exit $failed
