#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kind of tokenizer through strata export to both forms: it is written as it was, or a line
# says by name that it is not; and what is written is read again with the same ids.
#   sh tests/texts_export.sh STRATA
set -eu
strata=$(realpath "$1")
files=$(cd "$(dirname "$0")/runtime/tokenizers" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "texts_export.sh: $*" >&2; exit 1; }

# A .tiktoken is known by its 50256 ranks: all bytes, then pairs of bytes.
awk 'BEGIN {
    B = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (a = 0; a < 256; a++)
        print substr(B, int(a / 4) + 1, 1) substr(B, a % 4 * 16 + 1, 1) "==", n++
    for (i = 0; n < 50256; i++) {
        a = int(i / 256); b = i % 256
        print substr(B, int(a / 4) + 1, 1) substr(B, a % 4 * 16 + int(b / 16) + 1, 1) \
            substr(B, b % 16 * 4 + 1, 1) "=", n++
    }
}' >gpt2.tiktoken
cp "$files"/llama3.json "$files"/bpe.model "$files"/unigram.model .
for i in $(seq 40); do echo "the cat sat on the mat $i"; done >text

# MODEL VOCABULARY TOKENIZER: its spec and weights.
model() {
    cat >"$1.lua" <<END
return model { name = "$1", vocab = $2, context = 32, dim = 8, tokenizer = "$3",
  norm = rmsnorm {}, layers = times(1, layer { attention { heads = 2, rope = {} },
    mlp { hidden = 8 } }) }
END
    "$strata" build "$1.lua" >/dev/null
    "./$1" train --data text --steps 0 --out "$1.w" --quiet
}
# MODEL FORM STATUS LINE: what standard error begins with, '' for nothing.
exported() {
    status=0
    "$strata" export "$1.lua" --weights "$1.w" --to "$2" "$1.$2" >/dev/null 2>said || status=$?
    [ $status = "$3" ] || fail "$1 to $2: status $status: $(cat said)"
    [ "$(grep -c . said)" = "$([ -z "$4" ] && echo 0 || echo 1)" ] || fail "$1 to $2: $(cat said)"
    case "$(cat said)" in
    "$4"*) ;;
    *) fail "$1 to $2: expected '$4', found '$(cat said)'" ;;
    esac
}
ids() { "$strata" tokenizer encode "$1" 'the cat' '  a  b' 'the mat '; }
# MODEL FILE NAME IMPORTED: the exported folder has NAME, FILE's bytes, and its import the same ids.
kept() {
    cmp "$2" "$1.hf/$3" || fail "$1: expected $3 as it was"
    "$strata" import "$1.hf" -o "$1-r" >/dev/null || fail "$1: import"
    [ "$(ids "$2")" = "$(ids "$1-r.$4")" ] || fail "$1: expected the same ids"
    grep -q "\"tokenizer_class\": \"$5\"" "$1.hf/tokenizer_config.json" ||
        fail "$1: expected $5, found $(cat "$1.hf/tokenizer_config.json")"
}

model bytes 256 bytes
exported bytes hf 0 "note: transformers has no tokenizer of kind 'bytes': none is written"
exported bytes gguf 0 ''
grep -aq 'tokenizer.ggml.tokens' bytes.gguf || fail "GGUF: expected tokens of bytes"
model chars 60 chars
exported chars hf 0 "note: transformers has no tokenizer of kind 'chars': none is written"
exported chars gguf 0 "note: llama.cpp has no tokenizer of kind 'chars': none is written"
model json 342 llama3.json
exported json hf 0 ''
kept json llama3.json tokenizer.json tokenizer.json PreTrainedTokenizerFast
exported json gguf 0 ''
for kind in bpe unigram; do
    model $kind 480 $kind.model
    exported $kind hf 0 ''
    kept $kind $kind.model tokenizer.model tokenizer.model SentencePieceBackend
    exported $kind gguf 1 "error: $kind.model: expected a SentencePiece model "
done
{ cat bpe.model && printf '\032\002\040\000'; } >kept.model # no remove_extra_whitespaces
model kept 480 kept.model
exported kept gguf 0 ''
grep -aq 'tokenizer.ggml.scores' kept.gguf || fail "GGUF: expected scores"
model ranks 50257 gpt2.tiktoken
exported ranks hf 0 'note: transformers reads no .tiktoken'
kept ranks gpt2.tiktoken tokenizer.tiktoken tiktoken PreTrainedTokenizerFast
exported ranks gguf 0 ''
grep -aq 'tokenizer.ggml.merges' ranks.gguf || fail "GGUF: expected merges"

# What a folder with a .tiktoken says goes with it, but a class that would make an empty vocabulary.
rm -r ranks.hf/tokenizer.tiktoken
cp gpt2.tiktoken ranks.hf/qwen.tiktoken
printf '{"eos_token_id": [7, 9], "bos_token_id": 3}' >ranks.hf/generation_config.json
printf '{"tokenizer_class": "QWenTokenizer", "chat_template": "x"}' >ranks.hf/tokenizer_config.json
"$strata" import ranks.hf -o again >/dev/null
mv again.safetensors again.w
exported again hf 0 'note: transformers reads no .tiktoken'
kept again gpt2.tiktoken tokenizer.tiktoken tiktoken PreTrainedTokenizerFast
tr -d ' \n' <again.hf/generation_config.json | grep -q '"eos_token_id":\[7,9\],"bos_token_id":3' ||
    fail "$(cat again.hf/generation_config.json)"
grep -q '"chat_template": "x"' again.hf/tokenizer_config.json || fail "expected the template"

# A tokenizer that programs do not read goes through as it came, whichever file it is in.
for file in tokenizer.json tokenizer.model tiktoken; do
    sed '/tokenizer = /s/tokenizer = "[^"]*", *//; s/, tokenizer = "[^"]*"//' bytes.lua >none.lua
    cp bytes.w none.w
    rm -rf none.hf none.tok* none.tik*
    echo 'not known' >none.$file
    [ $file != tokenizer.json ] || echo '{"model": {"type": "WordPiece"}}' >none.$file
    note=
    [ $file != tiktoken ] || note='note: transformers reads no .tiktoken'
    exported none hf 0 "$note"
    cmp none.$file "none.hf/tokenizer.${file#tokenizer.}" || fail "$file: expected it as it was"
done
echo "texts_export: 6 kinds of tokenizers to both forms, and 3 that are copied"
