#!/bin/sh
# SPDX-License-Identifier: MIT
# What the compiler makes of the specs in specs/, as text:
#   sh generated/update.sh STRATA [FOLDER]      FOLDER: generated/, this one
# For x86-64-v3, so that any machine writes the same bytes; tests compare it.
#   NAME/graph.txt      primitive operations, equal layers once
#   NAME/kernels.txt    kernels, operation by operation, of a forward pass
#   NAME/memory.txt     where values live; those of layers beyond the second are left out
#   NAME/NAME.h         the C header of its object, without the part that is runtime/abi.h
#   hashes.txt          SHA-256 of the same files of all other specs, which differ in sizes only;
#                       with ALL=1 those are written, to be compared with another compiler's
# The demo and one spec of most mixers have a training step's kernels and memory too.  Of
# specs/papers/routes/ the small ones are here: the layouts of the papers are the same kernels in
# other sizes.
# A place without a file, ":12", is a line of the spec itself.
set -eu
export LC_ALL=C
strata=$(realpath "$1")
cd "$(dirname "$0")/.."
mkdir -p "${2:-generated}"
folder=$(realpath "${2:-generated}")
read_by_people="demo own-mixer standard-small-12 attnres-small-12 haares-small-12 hyper-small-12"
read_by_people="$read_by_people small-mod small-dllm"
trained="demo standard-small-12 own-mixer hyper-small-12"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

is_in() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }

# write SPEC FOLDER: every text of a spec
write() {
    view() { "$strata" inspect --cpu x86-64-v3 "$@" | sed -E "s/ {3,}/  /g; s#$1:#:#g"; }
    name=$(basename "$1" .lua)
    mkdir -p "$2"
    view "$1" --folded --inference >"$2/graph.txt"
    view "$1" --kernels --inference >"$2/kernels.txt"
    view "$1" --memory --inference | grep -vE "layers\.([2-9]|[0-9]{2,})\." >"$2/memory.txt"
    "$strata" inspect "$1" --cpu x86-64-v3 --header | awk '
        /^#ifndef STRATA_ABI$/ { inside = 1; print "/* ... runtime/abi.h ... */" }
        /^#ifndef STRATA_MODEL_/ { inside = 0 }
        !inside' >"$2/$(echo "$name" | tr - _).h"
    if is_in "$name" "$trained"; then
        view "$1" --kernels >"$2/training-kernels.txt"
        view "$1" --memory >"$2/training-memory.txt"
    fi
}

for spec in specs/*.lua specs/papers/*.lua specs/papers/haares/*.lua \
    specs/papers/routes/small-*.lua; do
    name=$(basename "$spec" .lua)
    if [ -n "${ALL:-}" ] || is_in "$name" "$read_by_people"; then write "$spec" "$folder/$name"
    else write "$spec" "$work/$name"; fi
done
if [ -z "${ALL:-}" ]; then (cd "$work" && sha256sum -- */*) >"$folder/hashes.txt"; fi
