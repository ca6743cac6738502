#!/bin/sh
# What the compiler makes of every spec in specs/, as text:
#   sh generated/update.sh STRATA [FOLDER]      FOLDER: generated/, this one
# For x86-64-v3, so that any machine writes the same bytes; tests compare it.
#   NAME/graph.txt      primitive operations, equal layers once
#   NAME/kernels.txt    kernels, operation by operation, of a forward pass
#   NAME/memory.txt     where values live; those of layers beyond the second are left out
#   NAME/NAME.h         the C header of its object, without the part that is runtime/abi.h
# The demo and one spec of most mixers have a training step's kernels and memory too.  Of specs/routes/ the small
# ones are here: the layouts of the papers are the same kernels in other sizes.
# A place without a file, ":12", is a line of the spec itself.
set -eu
strata=$(realpath "$1")
cd "$(dirname "$0")/.."
folder=${2:-generated}
trained="demo standard-small-12 own-mixer hyper-small-12"
for spec in specs/*.lua specs/routes/small-*.lua; do
    name=$(basename "$spec" .lua)
    mkdir -p "$folder/$name"
    view() { "$strata" inspect "$spec" --cpu x86-64-v3 "$@" | sed -E "s/ {3,}/  /g; s#$spec:#:#g"; }
    view --folded --inference >"$folder/$name/graph.txt"
    view --kernels --inference >"$folder/$name/kernels.txt"
    view --memory --inference | grep -vE "layers\.([2-9]|[0-9]{2,})\." >"$folder/$name/memory.txt"
    "$strata" inspect "$spec" --cpu x86-64-v3 --header | awk '
        /^#ifndef STRATA_ABI$/ { inside = 1; print "/* ... runtime/abi.h ... */" }
        /^#ifndef STRATA_MODEL_/ { inside = 0 }
        !inside' >"$folder/$name/$(echo "$name" | tr - _).h"
    case " $trained " in *" $name "*)
        view --kernels >"$folder/$name/training-kernels.txt"
        view --memory >"$folder/$name/training-memory.txt" ;;
    esac
done
