#!/bin/sh
# SPDX-License-Identifier: MIT
# Texts that are not UTF-8, through every command that reads texts, with every kind of tokenizer:
# what is kept and what is not is counted and told.  sh tests/stray.sh STRATA
set -eu
strata=$(realpath "$1")
files=$(realpath "$(dirname "$0")/runtime/tokenizers")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "stray.sh: $*" >&2; exit 1; }

kept='kept, as tokens of bytes$'
lost='U+FFFD is in the place, as the tokenizer has no tokens of bytes$'
bad=$(printf 'the c\351t \377')
for i in $(seq 60); do echo "the cat's mats and the ladder $i"; done >text
{ cat text && printf 'the c\351t \377\n'; } >bad
spec() {
    printf 'return model { name = "m", vocab = 512, context = 32, dim = 16, tokenizer = %s,\n' "$1"
    echo '  norm = rmsnorm {}, layers = times(1, layer { attention { heads = 2, rope = {} },'
    echo '    mlp { hidden = 16 } }) }'
}
# Exit status and what is told of the text: "TEXT of WHAT", once.
walked=0
told() {
    want="^note: 2 bytes of $1 are not UTF-8: $2" && shift 2
    "$@" >out 2>said || fail "$*: $(cat said)"
    [ "$(cat out said | grep -c "$want")" = 1 ] || fail "$*: expected $want, found $(cat said)"
    walked=$((walked + 1))
}

w='--weights m.safetensors --threads 1'
for kind in gpt2.json qwen.json llama2.json bpe.model metaspace.json unigram.model unigram.json; do
    means=$kept
    case $kind in metaspace.json | unigram.*) means=$lost ;; esac
    cp "$files/$kind" . && spec "\"$kind\"" >m.lua && "$strata" build m.lua >/dev/null
    told TEXT "$means" "$strata" tokenizer encode "$kind" "$bad"
    told 'the text' "$means" "$strata" tokens bad --tokenizer "$kind" -o t.bin --overwrite
    told 'the text' "$means" ./m train --data bad --steps 1 --overwrite
    told 'the text' "$means" ./m train --data bad --steps 1 --overwrite --quiet
    told --val "$means" ./m train --data text --val bad --steps 1 --overwrite --quiet
    # shellcheck disable=SC2086
    {
        told 'the text' "$means" ./m eval $w --data bad
        told 'the text' "$means" ./m probe $w --data bad
        told 'the prompt' "$means" ./m generate $w -p "$bad" --max-tokens 1
    }
    echo "$bad" >line
    # shellcheck disable=SC2016,SC2086
    told 'the message' "$means" sh -c './m chat $1 $2 $3 $4 --max-tokens 1 <line' sh $w
    printf '{"text": "a\377"}\n' >lines
    # shellcheck disable=SC2086
    ! ./m score $w lines >out 2>said || fail "score: expected JSON to be UTF-8"
    grep -q '^error: lines:1:byte 11: expected UTF-8, found byte 0xff$' said || fail "$(cat said)"
done

# The same ids whichever command reads them, and the bytes among them.
[ "$("$strata" tokenizer encode gpt2.json "$(printf '\377\376')" 2>/dev/null)" = "187 186" ] ||
    fail "found $("$strata" tokenizer encode gpt2.json "$(printf '\377\376')")"

# "bytes" takes any; "chars" has none but characters, and refuses, as a trainer does.
spec '"bytes"' >b.lua && "$strata" build b.lua -o b >/dev/null
./b train --data bad --steps 1 --out b.safetensors --quiet >out 2>said && [ ! -s said ] ||
    fail "bytes: $(cat said)"
spec '"chars"' >c.lua && "$strata" build c.lua -o c >/dev/null
./c train --data text --steps 1 --out c.safetensors --quiet
for words in 'train --overwrite' 'eval --weights c.safetensors' 'probe --weights c.safetensors'; do
    # shellcheck disable=SC2086
    ! ./c $words --data bad >out 2>said || fail "chars: expected $words to refuse it"
    grep -q '^error: bad:byte [0-9]*: expected UTF-8, found byte 0xe9$' said || fail "$(cat said)"
done
[ "$walked" = 63 ] || fail "expected 63 commands, found $walked"
echo "stray: $walked commands with 7 tokenizers say what is not UTF-8"
