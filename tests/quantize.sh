#!/bin/sh
# SPDX-License-Identifier: MIT
# strata quantize: a program has the same bits from a file that is rounded as from the one that it
# was made of, with experts, matrices of odd sizes and in bfloat16; what the file is, is told.
# Step and run stay with weights that strata weights writes too, and nothing is replaced unasked.
#   sh tests/quantize.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "quantize.sh: $*"; head -c 2000 out err 2>/dev/null; exit 1; }

cat >m.lua <<'END'
return model {
  name = "m", vocab = 256, context = 32, dim = 48, tokenizer = "bytes", norm = rmsnorm {},
  residual = attnres { full = true, heads = 2 }, embedding = { tied = false },
  layers = {
    layer { attention { heads = 4, kv_heads = 2 }, moe { experts = 4, top = 2, hidden = 40 } },
    layer { attention { heads = 4 }, mlp { hidden = 75, activation = "swiglu" } },
  },
}
END
seq 2000 | tr '\n' ' ' >text
echo '{"text":"1 2 3 4 5"}' >lines
"$strata" build m.lua -o m
./m train --data text --steps 3 --batch 2 --out m.safetensors --log log >out
./m eval --weights m.safetensors --data text --json >m.json
for type in q8 q4; do
    "$strata" build m.lua --inference --weights $type -o m.$type
    "$strata" quantize m.safetensors -o $type.safetensors --weights $type >$type.said
    ./m.$type eval --weights m.safetensors --data text --json >floats
    ./m.$type eval --weights $type.safetensors --data text --json >rounded
    cmp floats rounded || fail "$type: another loss"
    grep -q "\"weights_type\": \"$type\"" rounded || fail "$type: not said"
    ./m.$type eval --weights $type.safetensors --data text --beside m.json >out
    loss() { sed -n 's/^{"loss": \([0-9.]*\).*/\1/p' "$1"; }
    awk -v own="$(loss rounded)" -v other="$(loss m.json)" '
        $1 == "beside" && sprintf("%.6f,", other) == $2 &&
        sprintf("%+.6f", own - other) == $4 &&
        sprintf("(%+.3f", 100 * (own / other - 1)) == $5 { found = 1 }
        END { exit !found }' out || fail "$type: --beside"
    ./m.$type eval --weights $type.safetensors --data text --beside m.json --json >out
    grep -q "\"beside\": $(loss m.json), \"percent\": -*[0-9]" out || fail "$type: --beside --json"
    for w in m $type; do
        ./m.$type generate --weights $w.safetensors --prompt '7' --max-tokens 20 >$w.words
    done
    cmp m.words $type.words || fail "$type: another text"
    [ "$(stat -c %s $type.safetensors)" -lt "$(($(stat -c %s m.safetensors) / 7))" ] ||
        fail "$type: expected less than a seventh of a checkpoint's bytes"
done
# without training's probe more may be rounded when it is loaded, and bfloat16 is what the rest is
"$strata" build m.lua --inference --weights q4 --precision bf16 -o m.half
for w in m q4; do ./m.half eval --weights $w.safetensors --data text --json >$w.loss; done
cmp m.loss q4.loss || fail "bf16: another loss"

grep -q '^[0-9]* matrices rounded to q4, [0-9]* tensors as they are; .* of ' q4.said ||
    fail "$(cat q4.said)"
"$strata" weights list q8.safetensors >out
grep -qx 'q8    \[75,48\]              layers.1.mlp.up.weight' out || fail "list"
! grep -q 'weight\.scale' out || fail "list: scales"
tail -n 1 out | grep -q '; q8: [0-9]* matrices are rounded$' || fail "list: no end"
"$strata" weights list q4.safetensors >out
grep -qx 'q8    \[256,48\]             embed.weight' out || fail "list: embedding"
grep -qx 'q4    \[40,48\]              layers.0.mlp.experts.3.up.weight' out || fail "list: experts"
grep -qx 'F32   \[48,75\]              layers.1.mlp.down.weight' out || fail "list: odd steps"
"$strata" weights diff q8.safetensors q8.safetensors >out
[ "$(cat out)" = "0 tensors differ" ] || fail "diff: from itself"
"$strata" weights diff m.safetensors q8.safetensors >out
grep -q '^differs by .* of .* layers.1.mlp.up.weight$' out || fail "diff"
! grep -Eq 'norm|scale|shape|only' out || fail "diff: more than matrices"

# what is left of it is a file of the same kind
"$strata" weights strip q8.safetensors -o part --match 'layers.0.*' >out
"$strata" weights list part | tail -n 1 | grep -q '; q8: ' || fail "strip: other weights"
! "$strata" weights list part | grep -q 'layers\.0' || fail "strip: keeps layers"
"$strata" weights strip q8.safetensors -o whole >out
for w in whole q8.safetensors; do
    ./m.q8 score --weights $w lines --json >$(basename $w .safetensors).scores
done
cmp whole.scores q8.scores || fail "strip: another likelihood"

# step and run stay with weights that are stripped, and files where they are
about() { "$strata" weights list "$1" | head -n 1; }
run=$(sed -n 's/.*"run": *"\([0-9a-f]*\)".*/\1/p' log)
[ "$(about m.safetensors)" = "step 3 of run $run" ] || fail "list: $(about m.safetensors)"
[ "$(about q8.safetensors)" = "step 3 of run $run" ] || fail "quantize: $(about q8.safetensors)"
"$strata" weights strip m.safetensors -o bare >out
[ "$(about bare)" = "step 3 of run $run" ] || fail "strip: $(about bare)"
./m eval --weights bare --data text >out
grep -q '^weights  *step 3$' out || fail "strip: no step"
! ./m train --resume --out bare 2>err || fail "strip: a run goes on"
grep -q "bare: expected a checkpoint, found weights without the optimizer's state" err ||
    fail "strip: another error"
cp m.safetensors kept
for words in 'weights strip bare' 'quantize bare --spec m.lua'; do
    ! "$strata" $words -o m.safetensors >out 2>err || fail "$words: replaces"
    [ "$(cat err)" = "error: m.safetensors: expected no file; found weights, step 3 of a run: \
another name, or --overwrite" ] || fail "$words: another error"
    cmp m.safetensors kept || fail "$words: the file is another"
    cp kept copy
    "$strata" $words -o copy --overwrite >out || fail "$words: --overwrite"
    ! cmp -s copy kept || fail "$words: nothing is written"
done
! "$strata" weights strip copy -o copy --overwrite 2>err || fail "strip: of itself"
grep -q 'copy: expected a file to write, found one that is read (copy)' err || fail "strip: itself"

for type in q8 q4; do
    [ $type = q8 ] && other=q4 || other=q8
    ! ./m.$other eval --weights $type.safetensors --data text 2>err || fail "$other reads $type"
    [ "$(cat err)" = "error: $type.safetensors: expected weights that are rounded to $other, as m \
was built, or not rounded, found rounded to $type" ] || fail "$other"
    ! ./m eval --weights $type.safetensors --data text 2>err || fail "float32 reads $type"
    grep -q "as m was built without --weights, found rounded to $type" err || fail "float32"
done
echo "quantize: q8, q4"
