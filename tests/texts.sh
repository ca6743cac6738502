#!/bin/sh
# SPDX-License-Identifier: MIT
# Begin and end tokens, templates and sampling, from a folder through import, generate, score, chat
# and export, and back; a word of each switch.  sh tests/texts.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "texts.sh: $*" >&2; exit 1; }

for i in $(seq 200); do echo "one two three four five $i"; done >text
"$strata" tokenizer train --vocab 290 --special '<|endoftext|>,<s>,<|im_start|>,<|im_end|>' text \
    -o t.json >/dev/null 2>&1
cat >m.lua <<'END'
return model { name = "m", vocab = 290, context = 64, dim = 16, tokenizer = "t.json",
  norm = rmsnorm {}, layers = times(1, layer { attention { heads = 2, rope = {} },
    mlp { hidden = 16 } }) }
END
"$strata" build m.lua >/dev/null
./m train --data text --steps 0 --out m.safetensors --quiet

# Trained here: the same end in the tokenizer's file, config.json and tokenizer_config.json.
"$strata" export m.lua --weights m.safetensors --to hf d >/dev/null
grep -q '"eos_token_id": 0' d/config.json || fail "config.json: $(cat d/config.json)"
grep -q '"eos_token": "<|endoftext|>"' d/tokenizer_config.json ||
    fail "tokenizer_config.json: $(cat d/tokenizer_config.json)"
cmp t.json d/tokenizer.json || fail "expected the tokenizer's file as it was"

# A folder whose files say more.
printf '%s' '{"eos_token_id": [3, 2], "temperature": 0.5, "top_k": 7, "do_sample": true}' \
    >d/generation_config.json
printf '%s' '{"eos_token": "<|im_end|>", "bos_token": "<s>", "chat_template": "old"}' \
    >d/tokenizer_config.json
printf '{{ "<|im_start|>" }}\t\303\251\r\n{{ "<|im_end|>" }}\n' >d/chat_template.jinja
"$strata" import d -o n >/dev/null
for again in '' --overwrite; do # what it wrote is its own: it may be made again
    # shellcheck disable=SC2086
    "$strata" import d -o n $again >/dev/null || fail "import: expected to be done again"
done
"$strata" tokenizer info n.tokenizer.json >info
grep -q '^begin     1 <s>, not in front' info || fail "info: $(cat info)"
grep -q '^end       3 <|im_end|>, 2 <|im_start|>$' info || fail "info: $(cat info)"
grep -q '^sampling  temperature 0.5, top_k 7$' info || fail "info: $(cat info)"
grep -q '^template  chatml, ' info || fail "info: $(cat info)"

# Back again nothing is lost, and the template is the same bytes.
"$strata" export n.lua --weights n.safetensors --to hf e >/dev/null
for file in tokenizer.json chat_template.jinja; do
    cmp d/$file e/$file || fail "$file: expected the same bytes"
done
grep -q '"eos_token": "<|im_end|>"' e/tokenizer_config.json || fail "$(cat e/tokenizer_config.json)"
grep -q '"chat_template": "old"' e/tokenizer_config.json || fail "$(cat e/tokenizer_config.json)"
tr -d ' \n' <e/generation_config.json | grep -q '"eos_token_id":\[3,2\].*"top_k":7' ||
    fail "$(cat e/generation_config.json)"
tr -d ' \n' <e/config.json | grep -q '"eos_token_id":0' || fail "$(cat e/config.json)"
"$strata" import e -o r >/dev/null
cmp n.tokenizer.json r.tokenizer.json || {
    "$strata" tokenizer info --json n.tokenizer.json | sed 's/.*"begin"/"begin"/' >one
    "$strata" tokenizer info --json r.tokenizer.json | sed 's/.*"begin"/"begin"/' >two
    cmp one two || fail "expected one meaning, found $(cat one two)"
}
"$strata" export n.lua --weights n.safetensors --to gguf n.gguf >/dev/null
for key in add_bos_token eos_token_id eot_token_id bos_token_id; do
    grep -aq "tokenizer.ggml.$key" n.gguf || fail "GGUF: expected $key"
done
grep -aq 'tokenizer.chat_template' n.gguf || fail "GGUF: expected the template"

# Programs: what is not typed is the checkpoint's, and shown.
"$strata" build n.lua >/dev/null
w='--weights n.safetensors --threads 1'
# shellcheck disable=SC2086
./n generate $w -p one --max-tokens 1 --top-k 3 >/dev/null 2>said
grep -q '^sampling: --temperature 0.5, as the checkpoint' said || fail "generate: $(cat said)"
# shellcheck disable=SC2086
echo one | ./n chat $w --max-tokens 1 >/dev/null 2>said
grep -q "^template: chatml, by what the checkpoint's own writes" said || fail "chat: $(cat said)"
./n info | grep -q '^texts        begin with nothing, end at 3 <|im_end|>, 2 <|im_start|>' ||
    fail "info: $(./n info)"

# --bos: in front of every text, and not twice without a word.
ids() { "$strata" tokenizer encode n.tokenizer.json one "$@"; }
[ "$(ids --bos yes)" = "1 $(ids)" ] || fail "encode --bos yes: $(ids --bos yes)"
[ "$(ids --bos no)" = "$(ids)" ] || fail "encode --bos no: $(ids --bos no)"
ids --bare --bos yes >/dev/null 2>said && fail "encode: expected --bare --bos yes to be refused"
grep -q '^error: strata tokenizer encode: expected --bare or --bos yes, found both' said ||
    fail "encode: $(cat said)"
# shellcheck disable=SC2086
./n generate $w -p '<s>one' --max-tokens 1 --bos yes >/dev/null 2>said
[ "$(grep -c 'begins with the token that begins texts' said)" = 1 ] || fail "generate: $(cat said)"
printf '{"context": "%s", "continuation": " two"}\n' one '<s>one' >lines
# shellcheck disable=SC2086
score() { ./n score $w lines --json "$@" | sed -n 's/.*"loglikelihood": \([^,]*\), "is.*/\1/p'; }
score --bos yes >one
[ "$(sed -n 1p one)" = "$(sed -n 2p one)" ] || fail "score: expected one begin token: $(cat one)"
score >two
[ "$(sed -n 1p two)" != "$(sed -n 2p two)" ] || fail "score: expected no begin token: $(cat two)"
[ "$(sed -n 2p one)" = "$(sed -n 2p two)" ] || fail "score: expected the text's own to stay"
printf 'one two\n' >words
printf "[1]" >numbers.json && printf "{\"prompt\": \"a\"}" >other
for file in words numbers.json other; do
    # shellcheck disable=SC2086
    ./n score $w $file >out 2>said && fail "score: expected $file to be refused"
    grep -q '^  a line is {"context": TEXT, "continuation": TEXT} or {"text": TEXT} ' said ||
        fail "score: $(cat said)"
done
: >empty
# shellcheck disable=SC2086
./n score $w empty >/dev/null 2>said && grep -q '^note: there is no line to score$' said ||
    fail "score: $(cat said)"
# shellcheck disable=SC2046
printf '<s>one two three four %s\n' $(seq 80) >begun
./n train --data begun --steps 1 --bos yes --out o --quiet --overwrite >out 2>said
[ ! -s out ] && grep -q '^note: the text: a text begins with the token that begins texts' said ||
    fail "train --quiet: $(cat said)"
rm -f o*
status=0
./n train --data text --steps 1 --bos yes --out o --quiet >/dev/null 2>said || status=$?
[ $status = 0 ] || fail "train --bos yes: $(cat said)"
./n train --data text --steps 1 --out o2 --quiet
cmp -s o o2 && fail "train: expected --bos to change what is read"
./n train --resume --out o --steps 2 --bos no >/dev/null 2>said &&
    fail "train: expected --resume to refuse another --bos"
grep -q '^error: o: cannot resume: expected --bos no, found yes' said || fail "$(cat said)"
./n train --resume --out o --steps 2 --bos yes --quiet || fail "train: expected the same --bos"
./n train --resume --out o --steps 3 --quiet || fail "train: expected --bos to be remembered"
"$strata" tokens text --tokenizer n.tokenizer.json --bos yes -o a.bin >/dev/null
"$strata" tokens text --tokenizer n.tokenizer.json -o b.bin >/dev/null
[ "$(wc -c <a.bin)" = $(($(wc -c <b.bin) + 2)) ] || fail "tokens: expected one more of 16 bits"
printf '<s>one' >begun
"$strata" tokens begun --tokenizer n.tokenizer.json --bos yes -o c.bin >/dev/null 2>said
grep -q '^note: a text begins with the token that begins texts' said || fail "tokens: $(cat said)"
sed 's/t.json/bytes/' m.lua >bytes.lua
"$strata" build bytes.lua -o bytes >/dev/null
./bytes train --data text --steps 0 --out bytes.safetensors --quiet --bos yes >/dev/null 2>said &&
    fail "expected no begin token of bytes"
grep -q '^error: --bos yes: expected a tokenizer with a token that begins texts' said ||
    fail "bytes: $(cat said)"

# Where only tokens are read --bos would do nothing: it is refused, and nothing is written.
refused() {
    status=0
    "$@" >/dev/null 2>said || status=$?
    [ $status = 2 ] || fail "$*: expected status 2, found $status: $(cat said)"
    grep -Eq '^error: (strata tokens: )?--bos (yes|no): expected texts, .* found only token files' \
        said || fail "$*: $(cat said)"
}
sed 's/tokenizer = "t.json",//' m.lua >none.lua
"$strata" build none.lua -o none >/dev/null
for choice in yes no; do
    refused ./n train --data b.bin --steps 1 --bos $choice --out refused
    refused ./n train --data b.bin --val b.bin --steps 1 --bos $choice --out refused
    # shellcheck disable=SC2086
    refused ./n eval $w --data b.bin --bos $choice
    refused "$strata" tokens b.bin --tokenizer n.tokenizer.json --bos $choice -o refused
    refused ./none train --data b.bin --steps 1 --bos $choice --out refused
done
./none train --data b.bin --steps 1 --bos auto --out none.safetensors --quiet
refused ./none eval --weights none.safetensors --data b.bin --bos yes
[ ! -e refused ] || fail "expected nothing to be written"
./n train --data b.bin --val text --steps 1 --bos yes --out o3 --quiet
"$strata" tokens b.bin text --tokenizer n.tokenizer.json --bos yes -o c.bin >/dev/null
"$strata" tokenizer encode n.tokenizer.json one --bare --bos yes >/dev/null 2>said &&
    fail "expected --bare and --bos yes to be refused"
grep -q '^error: strata tokenizer encode: expected --bare or --bos yes, found both' said ||
    fail "encode: $(cat said)"

# --stop takes a special token, which no text shows: of untrained weights some samples have it.
many='--weights m.safetensors -p one --max-tokens 40 --samples 40'
# shellcheck disable=SC2086
./m generate $many >free
# shellcheck disable=SC2086
./m generate $many --stop '<s>' >ended
# shellcheck disable=SC2086
./m generate $many --stop 'never said' >same
cmp free same || fail "--stop: expected a text that is not said to change nothing"
[ "$(wc -c <ended)" -lt "$(wc -c <free)" ] || fail "--stop: expected some texts to end at <s>"

# What is wrong in a folder is a file's.
cp d/generation_config.json good
printf '{"temperature": -1}' >d/generation_config.json
"$strata" import d -o q >/dev/null 2>said && fail "expected a temperature to be refused"
grep -q '^error: d/generation_config.json:temperature: expected a number from 0' said ||
    fail "import: $(cat said)"
[ ! -e q.lua ] || fail "expected nothing to be written"
cp good d/generation_config.json
printf 'a\000b' >d/chat_template.jinja
"$strata" import d -o q >/dev/null 2>said && fail "expected a template with NUL to be refused"
grep -q '^error: d/chat_template.jinja:byte 1: expected UTF-8 without NUL' said ||
    fail "import: $(cat said)"
echo "texts: import, programs, HF and GGUF say one thing"
