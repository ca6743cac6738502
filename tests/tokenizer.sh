#!/bin/sh
# SPDX-License-Identifier: MIT
# Tokenizers in files:  sh tests/tokenizer.sh STRATA SOURCE
# Training, encode, decode, info; specs that name a file, the programs that carry it, the weights
# that remember it, and what depends on it: dependency files, the cache of strata run.
set -eu
strata=$(realpath "$1") source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LC_ALL=C.UTF-8 XDG_CACHE_HOME="$work/cache"
fail() { echo "tokenizer.sh: $*" >&2; exit 1; }
# says PATTERN COMMAND...: the command fails, its first line matches
says() {
    pattern=$1
    shift
    ! "$@" >out 2>err || fail "expected failure: $*"
    head -1 err | grep -q -- "$pattern" || fail "$*: found $(cat err)"
}

# == Training ==================================================================
cp "$source/tests/tokenizer/text.txt" text.txt
"$strata" tokenizer train --vocab 330 text.txt -o tok.json >out
grep -q '^tok.json: 330 tokens: 1 special, 256 bytes, 73 merges; pattern gpt2$' out ||
    fail "found $(cat out)"
"$strata" tokenizer train --vocab 330 text.txt -o again.json >/dev/null
cmp tok.json again.json || fail "expected the same bytes from the same text"
"$strata" tokenizer train --vocab 260 --special= text.txt -o none.json >out
grep -q '^none.json: 260 tokens: 0 special, 256 bytes, 4 merges' out || fail "found $(cat out)"
"$strata" tokenizer train --vocab 9999 --special '<s>,</s>' --pattern qwen2 text.txt >out
grep -q '^note: the text has no more pairs' out || fail "found $(cat out)"
grep -q '"content": "</s>"' tokenizer.json || fail "expected both special tokens"
# JSON lines: their texts, one by one, as of so many files
printf 'low lower' >low.txt && printf 'lowest caf\303\251' >est.txt
printf '{"text": "low lower", "id": 1}\n\n{"id": 2, "text": "lowest caf\\u00e9"}\n' >low.jsonl
printf '[{"text": "low lower"}, "lowest caf\\u00e9"]' >low.json
sed 's/"text"/"body"/' low.jsonl >body.jsonl && gzip -k low.jsonl
"$strata" tokenizer train --vocab 266 low.txt est.txt -o low.tok >/dev/null
for words in low.jsonl low.json low.jsonl.gz 'body.jsonl --field body'; do
    # shellcheck disable=SC2086
    "$strata" tokenizer train --vocab 266 $words -o lines.tok --overwrite >out
    cmp low.tok lines.tok || fail "$words: expected the tokenizer of the texts, found $(cat out)"
done
says '^error: body.jsonl:1: expected the field "text" (--field), found none$' \
    "$strata" tokenizer train --vocab 266 body.jsonl -o none.tok
printf '{"text": "a"}\n\n{"text": 7}\n' >seven.jsonl
says '^error: seven.jsonl:3: expected a string as "text", found a number$' \
    "$strata" tokenizer train --vocab 266 seven.jsonl -o none.tok
# what is no UTF-8 is told by its byte, and nothing is written
printf 'ab\377c' >bad.txt && printf '{"text": "a"}\n{"text": "b\377"}\n' >bad.jsonl
mkdir bad && cp text.txt bad/a && cp bad.txt bad/b
while read -r file place; do
    says "^error: $place: expected UTF-8, found byte 0xff\$" \
        "$strata" tokenizer train --vocab 266 "$file" -o none.tok
done <<'END'
bad.txt bad.txt:byte 2
bad.jsonl bad.jsonl:2:byte 11
bad bad/b:byte 2
END
says '^error: bad.jsonl:2:byte 11: expected UTF-8, found byte 0xff$' \
    "$strata" tokens bad.jsonl -o none.tok --tokenizer tok.json
[ ! -e none.tok ] || fail "expected no file after an error"

# == Text and ids ==============================================================

for text in 'the cat' "Ünïcödé 東京 🙂 a  b" 'x<|endoftext|>y'; do
    ids=$("$strata" tokenizer encode tok.json "$text")
    # shellcheck disable=SC2086
    back=$("$strata" tokenizer decode tok.json $ids --show-special)
    [ "$back" = "$text" ] || fail "'$text' came back as '$back'"
done
[ "$("$strata" tokenizer encode tok.json 'x<|endoftext|>y' | wc -w)" = 3 ] ||
    fail "expected the end token to be one id"
[ "$("$strata" tokenizer encode tok.json 'x<|endoftext|>y' |
    "$strata" tokenizer decode tok.json)" = xy ] || fail "expected no special token"
"$strata" tokenizer encode tok.json <text.txt | "$strata" tokenizer decode tok.json >back
cmp text.txt back || fail "expected the text back"
"$strata" tokenizer encode tok.json 'the' --json >out
grep -q '^{"ids": \[[0-9, ]*\], "tokens": \["the"\]}$' out || fail "found $(cat out)"
"$strata" tokenizer info tok.json >out
grep -q '^ids  *330$' out && grep -q '^special  *1: 0 <|endoftext|>$' out &&
    grep -q '^end  *0 <|endoftext|>$' out || fail "found $(cat out)"
"$strata" tokenizer info tok.json --json | grep -q '"ids": 330,' || fail "expected JSON"
says '^error: strata tokenizer decode: expected ids from 0 to 329, found .330.$' \
    "$strata" tokenizer decode tok.json 330

# == Specs =====================================================================
spec() {    # spec NAME TOKENIZER [VOCAB]
    cat <<END
return model {
  name = "$1", vocab = ${3:-336}, context = 16, dim = 16, tokenizer = "$2",
  norm = rmsnorm { eps = 1e-6 },
  layers = times(1, layer { attention { heads = 2 }, mlp { hidden = 32, activation = "relu" } }),
}
END
}
spec m tok.json >m.lua
spec few tok.json 329 >few.lua
says '^error: few.lua:1: model: expected vocab to be at least 330, for the ids of .tok.json.' \
    "$strata" check few.lua
mkdir in && spec out link.json >in/out.lua && ln -s ../tok.json in/link.json
says "^error: in/out.lua:1: tokenizer: expected 'link.json' inside the spec's folder" \
    "$strata" check in/out.lua
cp tok.json in/real.json && ln -sf real.json in/link.json
"$strata" check in/out.lua >/dev/null || fail "expected a link inside the folder to be right"
mkdir in/sub && cp tok.json in/sub/ && spec sub sub/tok.json >in/sub.lua
"$strata" check in/sub.lua >/dev/null || fail "expected a file in a folder of the spec's"
head -c 200 tok.json >cut.json && spec cut cut.json >cut.lua
says '^error: cut.lua:1: tokenizer: cut.json' "$strata" check cut.lua
truncate -s 101M big.json && spec big big.json >big.lua
says '^error: big.lua:1: tokenizer: expected a file of at most 100000000 bytes' \
    "$strata" check big.lua

# == Programs ==================================================================
"$strata" build m.lua --depfile dep
[ "$(cat dep)" = "m: m.lua tok.json" ] || fail "found $(cat dep)"
mkdir moved && mv tok.json moved/    # the program has it inside
sum=$(sha256sum moved/tok.json | cut -c1-12)
./m info | grep -q "tokenizer tok.json ($sum)\$" || fail "found $(./m info)"
./m info --json | grep -q "\"tokenizer_sha256\": \"$sum" || fail "found $(./m info --json)"
for i in 1 2 3 4 5 6 7 8; do cat text.txt; done >long.txt
./m train --data long.txt --steps 3 >/dev/null
./m train --data long.txt --steps 4 --resume >/dev/null || fail "expected to resume"
for command in 'train --out none.tok' 'eval --weights m.safetensors' \
    'probe --weights m.safetensors'; do
    # shellcheck disable=SC2086
    says '^error: bad.jsonl:2:byte 11: expected UTF-8, found byte 0xff$' \
        ./m $command --data bad.jsonl
done
[ ! -e none.tok ] || fail "expected no weights after an error"
tokens=$("$strata" tokenizer encode moved/tok.json <long.txt | wc -w)
./m eval --weights m.safetensors --data long.txt --json >losses
grep -q "\"tokens\": $((tokens - 1))[,}]" losses ||
    fail "expected $tokens tokens, found $(cat losses)"
# bits per byte: the sum of all losses, over the bytes behind the first token
first=$("$strata" tokenizer encode moved/tok.json --json <long.txt |
    sed 's/.*"tokens": \["\([^"]*\)".*/\1/' | tr -d '\n' | wc -c)
sed 's/[{}":,]/ /g' losses | awk -v bytes="$(($(wc -c <long.txt) - first))" '{
    for (i = 1; i < NF; i++) {
        if ($i == "loss") loss = $(i + 1)
        if ($i == "tokens") n = $(i + 1)
        if ($i == "bits_per_byte") found = $(i + 1)
    }
    expected = loss * n / log(2) / bytes
    if (expected - found > 1e-6 || found - expected > 1e-6) {
        print "bits per byte: expected " expected ", found " found
        exit 1
    }
}' || fail "see above"
./m generate --weights m.safetensors --prompt 'the ' --max-tokens 4 >/dev/null ||
    fail "expected generate to run"
./m probe --weights m.safetensors --data long.txt >/dev/null || fail "expected probe to run"

# == Other tokenizers ==========================================================
"$strata" tokenizer train --vocab 320 long.txt -o other.json >/dev/null
other=$(sha256sum other.json | cut -c1-12)
spec n other.json >n.lua && "$strata" build n.lua
says "trained with the tokenizer other.json ($other), found those of tok.json ($sum)\$" \
    ./n eval --weights m.safetensors --data long.txt
says "found those of tok.json" ./n train --data long.txt --init m.safetensors --steps 1 --out x
[ ! -e x ] || fail "expected no output"
./n eval --weights m.safetensors --data long.txt --tokenizer moved/tok.json --json >again
cmp losses again || fail "expected the same losses with the same tokenizer"
./n train --data long.txt --init m.safetensors --steps 1 --out x --tokenizer other.json \
    >/dev/null || fail "expected --tokenizer to decide"
./n eval --weights x --data long.txt >/dev/null || fail "expected x to be of other.json"
"$strata" tokenizer train --vocab 390 long.txt -o large.json >/dev/null
says '^error: large.json: expected a tokenizer of at most 336 ids, .* found 390$' \
    ./m eval --weights m.safetensors --data long.txt --tokenizer large.json
spec b bytes >b.lua && "$strata" build b.lua
says "expected weights trained without a tokenizer's file, found those of tok.json" \
    ./b eval --weights m.safetensors --data long.txt

# == What depends on the file ==================================================
cp moved/tok.json tok.json
"$strata" run m.lua info >/dev/null
"$strata" run m.lua info >/dev/null
[ "$(find cache -name m -type f | wc -l)" = 1 ] || fail "expected one program in the cache"
cp other.json tok.json
"$strata" run m.lua info | grep -q "($other)" || fail "expected the program of the other file"
[ "$(find cache -name m -type f | wc -l)" = 2 ] || fail "expected another program"
hash() { ./m info --json | sed 's/.*"spec_hash": "\([0-9a-f]*\)".*/\1/'; }
before=$(hash)
"$strata" build m.lua
[ "$before" != "$(hash)" ] || fail "expected another spec_hash for another tokenizer"
echo "tokenizer: as expected"
