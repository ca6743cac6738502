#!/bin/sh
# SPDX-License-Identifier: MIT
# score of a model with Llama 3's form of tokenizer: the numbers that lm-evaluation-harness 0.4.13
# gave for the model's export (tests/interop.sh lm-eval has many more), and the same lines
# compressed and as an array.
#   sh tests/score.sh STRATA TOKENIZER.json
set -eu
strata=$(realpath "$1")
tokenizer=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "score.sh: $1"; exit 1; }

cp "$tokenizer" llama3.json
cat >m.lua <<'END'
return model {
  name = "m", vocab = 342, context = 24, dim = 16, tokenizer = "llama3.json",
  norm = rmsnorm { eps = 1e-5 },
  layers = times(2, layer {
    attention { heads = 2, rope = { theta = 10000 } },
    mlp { hidden = 24 },
  }),
}
END
"$strata" build m.lua
yes 'the answer is a boat on the lake, in the hall 1234' | head -n 200 >t
./m train --data t --steps 20 --seed 11 --lr 0.01 --out w >/dev/null

long='the answer is a boat on the lake, in the hall 1234 and the rest of it is longer than a window'
cat >lines.jsonl <<END
{"context": "the answer is", "continuation": [" a boat", " a lake", "\\u3000"]}
{"context": "h", "continuation": "e"}
{"context": "caf\\u00a0", "continuation": "the"}
{"context": "", "continuation": "the answer"}
{"text": "$long is, so there are two or three of them"}
{"text": "x"}
{"context": "$long", "continuation": " is"}
END
status=0
./m score --weights w lines.jsonl --json >said 2>err || status=$?
[ $status = 1 ] || fail "expected status 1, found $status: $(cat err)"
grep -q '^error: lines.jsonl:2: expected all to be scored, found 1 of 9' err || fail "$(cat err)"
grep -q '"line": 2, .*null.*"not_scored": "the context.s last token takes in the cont' said ||
    fail "expected why line 2 is not scored: $(cat said)"

grep -v summary said | sed 's/.*"loglikelihood": \[*\([^]a-z]*\).*/\1/; s/, "is.*//; s/, "tok.*//' |
    tr -d ' "' | tr ',' '\n' | grep . >found
cat >right <<'END'
-14.5306
-17.1917
-19.6466
-21.6722
-23.4049
-460.2125
-11.4352
-13.2182
END
paste -d ' ' right found | awk '
    { apart = ($1 - $2) / $1; if (apart < 0) apart = -apart; if (NF != 2 || apart > 1e-3) bad = 1 }
    END { exit bad || NR != 8 }' || fail "the harness's numbers and ours: $(paste right found)"

for form in gzip zstd; do
    command -v $form >/dev/null || continue
    $form -c lines.jsonl >packed
    ./m score --weights w packed --json >again 2>err && fail "expected status 1 of $form"
    cmp -s said again || fail "$form: other results: $(cat again err)"
done
{ echo '['; sed '$!s/$/,/' lines.jsonl; echo ']'; } >lines.json
./m score --weights w lines.json --json >again 2>err && fail "expected status 1 of an array"
cmp -s said again || fail "an array: other results: $(cat again err)"

# no line is anything else than a request
head -c 300 m >program
./m score --weights w program 2>err && fail "expected a program to be refused"
grep -q 'program: expected text, found a program or library (ELF)' err || fail "$(cat err)"

# gzip is no other data than it says: the file's own bytes, which --resume knows again
gzip -c t >t.gz
for data in t t.gz; do ./m train --data $data --steps 6 --out r.$data >/dev/null; done
./m eval --weights r.t --data t --json | sed 's/"files".*//' >a
./m eval --weights r.t.gz --data t.gz --json | sed 's/"files".*//' >b
cmp -s a b || fail "compressed text trains another model: $(cat a b)"
./m train --data t.gz --steps 8 --resume --out r.t.gz >/dev/null || fail "cannot resume from t.gz"
./m train --data t --steps 8 --resume --out r.t.gz >/dev/null 2>err &&
    fail "resumed with other data"
grep -q 'the data has changed since the run was begun' err || fail "$(cat err)"
