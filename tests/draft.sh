#!/bin/sh
# SPDX-License-Identifier: MIT
# ./NAME generate --draft: the text is that without a draft, whatever the two models keep of a
# sequence; a draft that is the model itself is always right; what does not fit is refused.
# sh tests/draft.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "draft.sh: $*" >&2; exit 1; }

# spec NAME TOKENIZER VOCAB CONTEXT LAYER
spec() {
    cat >"$1.lua" <<END
return model { name = "$1", vocab = $3, context = $4, dim = 24, tokenizer = "$2",
  norm = rmsnorm {}, residual = haares { blocks = 2 },
  train = { batch = 8, optimizer = adamw { lr = 5e-3 } },
  layers = times(2, layer { $5 }) }
END
    "$strata" build "$1.lua" >/dev/null
    "$strata" build --emit shared "$1.lua" -o "$1.so" >/dev/null
    ./"$1" train --data text --steps "${6:-60}" --threads 1 >/dev/null 2>&1
}
i=0
while [ $i -lt 60 ]; do
    echo "the cat sat on the mat, the dog sat on the $i"
    i=$((i + 1))
done >text
spec full bytes 256 64 'attention { heads = 2, rope = {} }, mlp { hidden = 32 }'
spec near bytes 256 40 'attention { heads = 2, window = 3, rope = {} }'
spec past bytes 256 64 'gated_delta { heads = 2, head_dim = 6, conv = 3 }'
spec some bytes 256 64 'attention { heads = 2, rope = {} }, mlp { hidden = 32 }, route = dtr {}'
spec letters chars 40 64 'mlp { hidden = 32 }' 1
sed 's/the cat/a bird/' text >other && mv other text
spec others chars 40 64 'mlp { hidden = 32 }' 1

# same MODEL DRAFT OPTION...: the same text; prints how many proposals held, of how many
same() {
    model=$1 draft=$2
    shift 2
    ./"$model" generate --weights "$model.safetensors" --prompt 'the ' "$@" >want
    ./"$model" generate --weights "$model.safetensors" --prompt 'the ' "$@" --draft "$draft.so" \
        --draft-weights "$draft.safetensors" >found 2>said || fail "$model, $draft: $(cat said)"
    cmp -s want found || fail "$model with $draft, $*: another text"
    sed -n 's/^draft: \([0-9]*\) of \([0-9]*\) proposed tokens held$/\1 \2/p' said
}
for model in full near past some; do
    for draft in full near past some; do
        counts=$(same $model $draft --temperature 0 --max-tokens 30 --threads 2)
        [ -n "$counts" ] || fail "$model, $draft: found no count"
        # but for those of the last call, which nobody asked for
        [ $model != $draft ] || [ $((${counts% *} + 3)) -ge "${counts#* }" ] \
            || fail "$model with itself: $counts"
        same $model $draft --seed 3 --samples 2 --repeat-penalty 1.2 --max-tokens 20 \
            --threads 1 >/dev/null
    done
done
# up to the end of both contexts
same full near --temperature 0 >/dev/null
same near full --temperature 0 >/dev/null
# and beyond them
for model in full near past some; do
    for draft in full near past some; do
        same $model $draft --slide --seed 5 --repeat-penalty 1.1 --max-tokens 100 --samples 2 \
            --threads 1 >/dev/null
    done
    counts=$(same $model $model --slide --seed 4 --max-tokens 300)
    # but for those that a full context takes back
    [ $((${counts% *} * 10)) -ge $((${counts#* } * 9)) ] && [ "${counts#* }" -ge 150 ] \
        || fail "$model slides with itself: $counts"
done
prompt=$(head -n 5 text)
./full generate --weights full.safetensors --prompt "$prompt" --slide --seed 7 >want
./full generate --weights full.safetensors --prompt "$prompt" --slide --seed 7 --draft near.so \
    --draft-weights near.safetensors >found 2>/dev/null
cmp -s want found || fail "a prompt beyond the context: another text"

# a conversation, whose turns are read behind proposals that did not hold
printf 'the cat\nthe dog\nthe mat\n' >turns
talk() {
    ./past chat --weights past.safetensors --seed 2 --max-tokens 9 --threads 1 "$@" <turns \
        2>/dev/null
}
talk >want
for draft in full past; do
    talk --draft $draft.so --draft-weights $draft.safetensors >found
    cmp -s want found || fail "chat with $draft: another text"
done

# refused WORDS MODEL OPTION...
refused() {
    words=$1 model=$2
    shift 2
    ./"$model" generate --weights "$model.safetensors" --prompt a "$@" >found 2>said \
        && fail "$words: expected a refusal"
    head -n 1 said | grep -q "^error: .*$words" || fail "expected $words, found $(cat said)"
}
refused 'expected --draft-weights FILE' full --draft near.so
refused 'expected a model that was built with --emit shared' full --draft near \
    --draft-weights near.safetensors
refused 'cannot' full --draft none.so --draft-weights near.safetensors
refused 'same vocabulary' full --draft letters.so --draft-weights letters.safetensors
refused 'other characters' letters --draft others.so --draft-weights others.safetensors
refused 'expected the 32 parameters of full' near --draft full.so --draft-weights near.safetensors
echo 'int x;' | cc -shared -x c - -o library.so
refused 'found another library' full --draft library.so --draft-weights near.safetensors
