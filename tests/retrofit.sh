#!/bin/sh
# SPDX-License-Identifier: MIT
# Another mixer under weights that are there: import --residual and --route, train --init, compare
# --init, as a user meets them.  sh tests/retrofit.sh STRATA SOURCE
set -eu
strata=$(realpath "$1")
folder=$(realpath "$2")/tests/checkpoints/llama
sample=$(realpath "$2")/specs/sample
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "retrofit.sh: $*" >&2; exit 1; }

logits() {      # logits NAME: builds it, and writes what it computes to NAME.logits
    "$strata" build "$1.lua" >/dev/null || fail "$1: expected it to build"
    "./$1" logits --weights "$1.safetensors" --tokens "$folder/expected.safetensors" \
        --out "$1.logits"
}
# Largest differences of logits that are about 2, in units of 1e-4.
apart() {
    "$strata" weights diff "$1.logits" "$2.logits" |
        awk '/^differs by/ { found = $3 } END { printf "%d", found * 1e4 }'
}

# Equal at first with init = "residual", another function without; what is new is told.
"$strata" import "$folder" -o plain >/dev/null
"$strata" import "$folder" -o equal --residual 'haares { blocks = 2, init = "residual" }' >said
grep -q '^29 tensors of the folder, 14 new with initial values, 0 left over$' said ||
    fail "found: $(cat said)"
"$strata" import "$folder" -o other --residual 'haares { blocks = 2 }' >/dev/null
for name in plain equal other; do logits $name; done
[ "$(apart plain equal)" -lt 2 ] || fail "expected equal logits, found $(apart plain equal)e-4"
[ "$(apart plain other)" -gt 100 ] || fail "expected other logits, found $(apart plain other)e-4"
grep -q '^  residual = haares { blocks = 2, init = "residual" },$' equal.lua ||
    fail "expected the mixer in the spec"

# What a mixer without norms of sublayers leaves is named.
"$strata" import "$folder" -o left --residual 'gated_residual { streams = 2, rank = 4 }' >said
grep -q '^  left over: layers.0.attention.norm.weight, layers.0.mlp.norm.weight, ' said ||
    fail "found: $(cat said)"

# One's own mixer, a route, and both; each builds.
cp "$sample/echo.lua" .
"$strata" import "$folder" -o own --residual 'require "echo" {}' --route 'dtr {}' >/dev/null
grep -q '^    route = dtr {},$' own.lua || fail "expected a route in the spec"
logits own

# Initial values are those that the program gives them, random ones too.
yes 'a little text' | head -c 4000 >text
cat >tiny.lua <<'END'
return model { name = "tiny", vocab = 256, context = 16, dim = 16, tokenizer = "bytes",
  norm = rmsnorm {}, residual = residual, train = { batch = 2 },
  layers = times(2, layer {
    attention { heads = 2, rope = { theta = 10000 } }, mlp { hidden = 16 },
  }) }
END
with() {
    sed -e "s/residual = residual/residual = $2/" -e "s/\"tiny\"/\"$1\"/" tiny.lua >"$1.lua"
}
with base 'standard {}'
with gated 'residual_gate {}'
with one 'rezero { init = "residual" }'
for name in base gated; do "$strata" build $name.lua >/dev/null; done
./base train --data text --val text --steps 30 --out base.safetensors >/dev/null
"$strata" export base.lua hf --weights base.safetensors --to hf >/dev/null
"$strata" import hf -o back --residual 'residual_gate {}' >/dev/null
./gated train --data text --init base.safetensors --steps 0 --out gated.safetensors >/dev/null 2>&1
"$strata" weights diff gated.safetensors back.safetensors >differences || true
grep -q 'no tensor differs\|0 tensors differ' differences || fail "found: $(cat differences)"

# Weights that were trained since are not replaced unasked; what was only imported is.
"$strata" import hf -o back --residual 'residual_gate {}' >/dev/null || fail "expected it again"
cp base.safetensors trained.safetensors
! "$strata" import hf -o trained 2>said || fail "expected weights that were trained to be kept"
grep -q "^error: trained.safetensors: expected no file, .*found weights, step 30 of a run" said ||
    fail "found: $(cat said)"
cmp -s base.safetensors trained.safetensors || fail "expected the same weights"
[ ! -e trained.lua ] || fail "expected no spec beside weights that are kept"
"$strata" import hf -o trained --overwrite >/dev/null || fail "expected --overwrite to replace them"
! cmp -s base.safetensors trained.safetensors || fail "expected imported weights"

# compare --init: a loss before the first step, equal where the function is.
"$strata" compare base.lua one.lua gated.lua --train text --steps 4 --threads 1 \
    --init base.safetensors >table
awk '/^validation loss before training / { found = $5 == $6 && $8 != $5 } END { exit !found }' \
    table || fail "expected equal losses before training, then another; found: $(cat table)"
echo "retrofit: equal at first, told, refused, the same initial values"
