#!/bin/sh
# SPDX-License-Identifier: MIT
# strata tokens and programs: a token file is its texts, bit for bit, in the layout of llm.c; one
# of 20 GB, nearly all holes, trains in the address space of a small one.
#   sh tests/tokens.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "tokens.sh: $1"; exit 1; }

spec() {    # spec NAME TOKENIZER [VOCABULARY]
    cat >"$1.lua" <<END
return model {
  name = "$1", vocab = ${3:-256}, context = 32, dim = 16, tokenizer = "$2",
  norm = rmsnorm { eps = 1e-6 },
  layers = times(1, layer { attention { heads = 2 }, mlp { hidden = 32, activation = "relu" } }),
}
END
    "$strata" build "$1.lua"
}
spec raw bytes
spec signs chars
yes 'the quick brown fox jumps over the lazy dog' | head -n 100 >one
seq 2000 | tr '\n' ' ' >two
mkdir set
printf '{"text":"caf\\u00e9 au lait, s\\u2019il vous pla\\u00eet"}\n\n{"id":1,"text":"%s"}\n' \
    "$(seq 300 | tr '\n' ' ')" >set/lines.jsonl
cp one set/text

losses() { grep -o '"loss": [0-9.e-]*' "$1"; }
same() {
    losses "$1" >a
    losses "$2" >b
    cmp -s a b || fail "$1 and $2 differ: $3"
}

# texts and their token file
"$strata" tokens one two set -o raw.bin --tokenizer bytes >said
grep -q '^raw.bin: [0-9]* tokens of 16 bits$' said || fail "expected a count, found $(cat said)"
for order in random sequential shuffled; do
    ./raw train --data one two set --steps 8 --order $order --log texts.log --out w \
        --overwrite >/dev/null
    ./raw train --data raw.bin --steps 8 --order $order --log file.log --out v \
        --overwrite >/dev/null
    same texts.log file.log $order
done
./signs train --data one two set --steps 8 --log signs.log --out signs.safetensors >/dev/null
cp signs.safetensors w
"$strata" tokens one two set -o signs.bin --spec signs.lua --weights w >/dev/null
./signs train --data signs.bin --steps 8 --log file.log --out v --overwrite --init w >/dev/null
./signs train --data one two set --steps 8 --log texts.log --out v --overwrite --init w >/dev/null
same texts.log file.log "characters, with ends between documents"
"$strata" tokens set -o set.bin --spec signs.lua --weights v >/dev/null
./signs eval --weights v --data set --json >a
./signs eval --weights v --data set.bin --json >b
cmp -s a b || fail "expected the same evaluation, bits per byte included: $(cat a b)"
"$strata" tokens set -o field.bin --spec raw.lua --field id 2>err >/dev/null &&
    fail "expected a field that is no text to be refused"
grep -q '^error: set/lines.jsonl:1: expected the field "id"' err || fail "found $(cat err)"

# the layout of llm.c: 1024 bytes, then uint16
[ "$(head -c 12 raw.bin | od -An -tu4 | tr -s ' ')" = \
    " 20240520 1 $((($(wc -c <raw.bin) - 1024) / 2))" ] || fail "another header than llm.c's"
[ "$(tail -c +1025 raw.bin | head -c 8 | od -An -tu2 | tr -s ' ')" = " 116 104 101 32" ] ||
    fail "other ids than the text's"

# 10 000 million tokens: the count's upper half is in the header's fourth number
{ printf '\210\330\064\001\001\0\0\0\0\344\013\124\002\0\0\0'; } >huge.bin
if truncate -s $((1024 + 2 * 10000000000)) huge.bin 2>/dev/null; then
    for order in random shuffled; do
        (
            [ -n "${STRATA_SANITIZE:-}" ] || ulimit -v 1000000
            ./raw train --data huge.bin --steps 4 --order $order --log huge.log --out h \
                --overwrite --threads 2
        ) >said || fail "expected training on 20 GB, found $(cat said)"
        grep -q '10000000000 tokens' said || fail "expected 10000000000 tokens, found $(cat said)"
    done
    ./raw train --data huge.bin --steps 6 --order shuffled --resume --out h >said
    grep -q 'goes on after step 4' said || fail "expected to go on, found $(cat said)"
    truncate -s $((1024 + 2 * 10000000000 - 1)) huge.bin
    ./raw train --data huge.bin --steps 8 --order shuffled --resume --out h >said 2>err &&
        fail "expected a cut file to be refused"
    grep -q '^error: huge.bin: expected the 10000000000 tokens of its header' err ||
        fail "found $(cat err)"
else
    echo "tokens.sh: no holes in files here, 20 GB left out"
fi

# of another tokenizer: refused by each command that reads it
"$strata" tokens one two -o chars.bin --spec signs.lua --weights w >/dev/null
for command in 'train --data chars.bin --out x.st' 'eval --weights v.raw --data chars.bin' \
    'probe --weights v.raw --data chars.bin'; do
    [ -e v.raw ] || ./raw train --data one --steps 2 --out v.raw >/dev/null
    # shellcheck disable=SC2086
    ./raw $command >/dev/null 2>err && fail "expected tokens of another tokenizer to be refused"
    grep -q 'chars.bin: expected tokens of the tokenizer that is used here, found those' err ||
        fail "$(cat err)"
done
# weights in the place of data, as they are written here
./raw eval --weights v.raw --data v.raw >/dev/null 2>err && fail "expected weights to be no data"
grep -q '^error: v.raw: expected text, found a safetensors file' err || fail "$(cat err)"

# another only by the names of special tokens
"$strata" tokenizer train --vocab 270 --special '<s>,</s>' one two -o own.json >/dev/null 2>&1
sed 's/<s>/<p>/g' own.json >other.json
spec own own.json 270
spec other other.json 270
"$strata" tokens one two -o own.bin --spec own.lua >/dev/null
./own train --data own.bin --steps 1 --out own.st --quiet
./other train --data own.bin --steps 1 --out other.st --quiet 2>err &&
    fail "expected tokens of a tokenizer with another special token to be refused"
grep -q 'own.bin: expected tokens of the tokenizer that is used here' err || fail "$(cat err)"
echo "tokens: texts, files and 20 GB agree"
