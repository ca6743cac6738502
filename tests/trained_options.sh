#!/bin/sh
# SPDX-License-Identifier: MIT
# Values of a spec's options and weights: commands use those that -D gives, and who reads weights
# that were trained with others says which, by every command and for every kind of option.
#   sh tests/trained_options.sh STRATA
set -u
. "$(dirname "$0")/support/work.sh"
fail() { echo "trained_options.sh: $*" >&2; head -c 2000 out err 2>/dev/null; exit 1; }
# says STATUS PATTERN COMMAND ...: its status, and a line on standard error
says() {
    wanted=$1 pattern=$2
    shift 2
    "$@" >out 2>err </dev/null
    status=$?
    [ $status = "$wanted" ] || fail "expected status $wanted, not $status, of $*"
    grep -q -- "$pattern" err || fail "expected '$pattern' of $*"
}
does() { "$@" >out 2>err </dev/null || fail "expected $* to succeed"; }

# Options of every type that leave the parameters as they are, and one of training alone.
cat >m.lua <<'END'
local o = option {
  theta = 10000, window = { type = "integer", default = 0 }, roped = true,
  act = { one_of = { "swiglu", "geglu_tanh" }, default = "swiglu" },
  eps = { any_of = { { type = "number", above = 0 } } }, lr = 1e-3, words = "bytes",
  alpha = 8, adapted = false,
}
return model {
  name = "m", vocab = 256, context = 16, dim = 16, tokenizer = o.words,
  norm = rmsnorm { eps = o.eps or 1e-5 },
  lora = o.adapted and lora { rank = 2, alpha = o.alpha, targets = { "*.q" } } or nil,
  layers = times(1, layer {
    attention { heads = 2, rope = o.roped and { theta = o.theta } or nil,
                window = o.window > 0 and o.window or nil },
    mlp { hidden = 24, activation = o.act } }),
  train = { optimizer = adamw { lr = o.lr }, batch = 2 },
}
END
yes 'the quick brown fox jumps over the lazy dog' | head -c 5000 >text
printf '{"context": "the", "continuation": " quick"}\n' >pairs.jsonl
values='theta=500000 window=8 act=geglu_tanh eps=0.001'
all='-D theta=500000 -D window=8 -D act=geglu_tanh -D eps=0.001'

# shellcheck disable=SC2086
does "$strata" build m.lua $all -o trained
does ./trained train --data text --steps 1 --out w.safetensors
grep -q '"function":"[1-9]' w.safetensors || fail "expected the function's hash in the metadata"
python3 -c 'import json, struct
h = struct.pack("<Q", 0)
def tensor(name, at): return {"dtype": "I32", "shape": [1, 4], "data_offsets": [at, at + 16]}
head = json.dumps({"tokens": tensor("t", 0), "targets": tensor("t", 16)}).encode()
open("ids.safetensors", "wb").write(struct.pack("<Q", len(head)) + head
    + struct.pack("<8i", *range(1, 9)))' || fail "python3"

# reads PROGRAM WEIGHTS [--changed NAME]: every command of it that takes weights
reads() {
    program=$1 weights=$2
    shift 2
    rm -f o.*
    cat <<END
$program eval -w $weights --data text $*
$program generate -w $weights --prompt the --max-tokens 2 $*
$program chat -w $weights --template plain $*
$program logits -w $weights --tokens ids.safetensors --out o.logits $*
$program gradients -w $weights --tokens ids.safetensors --out o.gradients $*
$program probe -w $weights --data text $*
$program score -w $weights pairs.jsonl $*
$program train --data text --steps 0 --init $weights --out o.init $*
END
}
# refused WANTED, accepted: what every line of 'list' must do
refused() {
    while read -r line; do
        # shellcheck disable=SC2086
        says 1 "^error: w.*: was trained with $1, found $2" $line
        grep -q -- "$3" err || fail "expected '$3' of $line"
    done <list
}
accepted() {
    while read -r line; do
        # shellcheck disable=SC2086
        does $line
    done <list
}

# == Programs ==================================================================
n=0
for value in $values; do
    name=${value%%=*} others=
    for other in $values; do [ "$other" = "$value" ] || others="$others -D $other"; done
    # shellcheck disable=SC2086
    does "$strata" build m.lua $others -o other
    case $name in
    theta) found=theta=10000 ;;
    window) found=window=0 ;;
    act) found=act=swiglu ;;
    *) found="no eps" ;;
    esac
    reads ./other w.safetensors >list
    refused "-D $value" "$found, which the program was built with" \
        "strata build SPEC -D $value, or --changed $name"
    n=$((n + $(wc -l <list)))
    reads ./other w.safetensors --changed $name >list
    accepted
    says 1 'was trained with' ./other train --resume --data text --steps 9 --out w.safetensors
    grep -q changed err && fail "--changed is offered to --resume"
    says 1 'was trained with' ./other probe -w o.init --before w.safetensors --data text
    does ./other probe -w o.init --before w.safetensors --data text --changed $name
done
# a switch, and several at once
# shellcheck disable=SC2086
does "$strata" build m.lua $all -D roped=false -D theta=7 -o other
reads ./other w.safetensors >list
refused "-D roped=true -D theta=500000" "roped=false, theta=7" "--changed roped,theta"
reads ./other w.safetensors --changed theta,roped >list
accepted
says 1 'was trained with -D roped=true, found roped=false' \
    ./other eval -w w.safetensors --data text --changed theta
says 1 "^error: --changed: expected names of options .* found 'thet'" \
    ./other eval -w w.safetensors --data text --changed thet,roped
# what only training reads leaves the weights what they are
# shellcheck disable=SC2086
does "$strata" build m.lua $all -D lr=0.5 -o rate
reads ./rate w.safetensors >list
accepted
says 1 'was trained with -D lr=0.001, found lr=0.5' \
    ./rate train --resume --data text --steps 9 --out w.safetensors
# weights that say nothing of options, and those of before, which say no function
does "$strata" build m.lua -o plain
sed 's/"options":"{/"0ptions":"{/; s/xxh64:/zzh64:/' w.safetensors >wild.safetensors
sed -i 's/"checksum"/"0hecksum"/' wild.safetensors
reads ./plain wild.safetensors >list
accepted
sed 's/"function"/"0unction"/; s/"checksum"/"0hecksum"/' w.safetensors >wolder.safetensors
reads ./rate wolder.safetensors >list
refused "-D lr=0.001" "lr=0.5" "--changed lr"
does ./trained eval -w wolder.safetensors --data text

# == Files that are made of files keep what they know =========================
does "$strata" weights strip w.safetensors -o wstripped.safetensors
# shellcheck disable=SC2086
does "$strata" quantize w.safetensors --spec m.lua $all -o wsmall.safetensors
does "$strata" build m.lua --inference --weights q8 -o small
for file in wstripped wsmall; do
    says 1 'was trained with -D act=geglu_tanh -D eps=0.001 -D theta=500000 -D window=8, found' \
        ./small eval -w $file.safetensors --data text
done
does "$strata" build m.lua -D adapted=true -D alpha=64 -o adapted
does ./adapted train --data text --steps 2 --out wlora.safetensors
says 1 '^error: wlora.* -D alpha=64, found alpha=8 in m.lua; type -D alpha=64, or --changed alpha' \
    "$strata" weights merge m.lua -D adapted=true wlora.safetensors -o wmerged.safetensors
says 1 "with commas, found .beta" "$strata" weights merge m.lua -D adapted=true wlora.safetensors \
    -o wmerged.safetensors --changed beta
does "$strata" weights merge m.lua -D adapted=true -D alpha=64 wlora.safetensors \
    -o wmerged.safetensors
does "$strata" weights merge m.lua -D adapted=true wlora.safetensors -o wless.safetensors \
    --changed alpha
cmp -s wmerged.safetensors wless.safetensors && fail "alpha is not used"
says 1 'was trained with -D adapted=true -D alpha=64, found adapted=false, alpha=8' \
    ./plain eval -w wmerged.safetensors --data text
does ./plain eval -w wmerged.safetensors --data text --changed adapted,alpha

says 2 '--changed is of merge' "$strata" weights list w.safetensors --changed theta
says 2 '--changed: expected --init' ./plain train --data text --out o.init --changed theta

# == Commands of strata ========================================================
for value in $values; do
    others=
    for other in $values; do [ "$other" = "$value" ] || others="$others -D $other"; done
    for command in "export m.lua --weights w.safetensors --to hf o" \
        "export m.lua --weights w.safetensors --to gguf o.gguf" \
        "quantize w.safetensors --spec m.lua -o o.q8"; do
        # shellcheck disable=SC2086
        says 1 "was trained with -D $value, found .* in m.lua; type -D $value, or --changed" \
            "$strata" $command $others
        [ ! -e o ] && [ ! -e o.gguf ] && [ ! -e o.q8 ] || fail "$command left something"
    done
done

# exported GREP VALUES: config.json has it; read back, it is the model
exported() {
    rm -rf o
    wanted=$1
    shift
    # shellcheck disable=SC2068
    does "$strata" export m.lua --weights wild.safetensors --to hf o --check $@
    grep -q -- "$wanted" o/config.json || fail "expected $wanted of export $*"
    rm -rf o
    # shellcheck disable=SC2068
    does "$strata" export m.lua --weights wild.safetensors --to hf o $@
    grep -q -- "$wanted" o/config.json || fail "expected $wanted of export $*, unchecked"
}
exported '"rope_theta": 1e+04'
exported '"rope_theta": 5e+05' -D theta=500000
exported '"rms_norm_eps": 0.001' -D eps=0.001
exported '"sliding_window": 8' -D window=8
exported '"hidden_act": "gelu_pytorch_tanh"' -D act=geglu_tanh
exported '"model_type": "strata"' -D roped=false
rm -f o.gguf
does "$strata" export m.lua --weights wild.safetensors --to gguf o.gguf -D theta=500000
does "$strata" export m.lua --weights wild.safetensors --to gguf o2.gguf
cmp -s o.gguf o2.gguf && fail "expected theta in the GGUF file"
says 1 'found layers.0.attention: window' "$strata" export m.lua --weights wild.safetensors \
    --to gguf o3.gguf --check -D window=8
says 1 'found ' "$strata" export m.lua --weights wild.safetensors --to gguf o3.gguf -D roped=false

# == Every command that reads specs ============================================
used='"act": "geglu_tanh".*"roped": false.*"theta": 5.*"window": 8'
given='-D act=geglu_tanh -D roped=false -D theta=5 -D window=8'
# shellcheck disable=SC2086
for command in "inspect m.lua --json" "run m.lua" "compare m.lua m.lua --json"; do
    case $command in run*) does "$strata" $command $given info --json ;;
    *) does "$strata" $command $given ;; esac
    grep -q "$used" out || fail "expected $used of $command"
done
# shellcheck disable=SC2086
does "$strata" check m.lua $given
grep -q -- '-D window=8 ' out || fail "check does not say what was chosen"
does "$strata" tokens text --spec m.lua -o o.ids
says 2 'which is learnt from the training text' \
    "$strata" tokens text --spec m.lua -D words=chars -o o.ids
# comparisons begin with the same weights on purpose
does "$strata" compare m.lua:theta=7 m.lua:theta=500000 -D window=8 -D act=geglu_tanh -D eps=0.001 \
    --init w.safetensors --train text --steps 2 --json
says 1 'was trained with -D theta=500000, found theta=10000' "$strata" compare m.lua m.lua:theta=7 \
    -D window=8 -D act=geglu_tanh -D eps=0.001 --init w.safetensors --train text --steps 2
echo "trained_options: $n refusals of programs, all is well"
