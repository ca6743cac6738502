#!/bin/sh
# SPDX-License-Identifier: MIT
# ./NAME chat: templates by the tokenizer's tokens, a state that is kept between messages, what is
# refused, and interrupts.  sh tests/chat.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "chat.sh: $*" >&2; exit 1; }

turn() { printf '<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n' "$1"; }
for _ in $(seq 40); do
    for pair in 'one two' 'two three' 'red blue' 'sun moon'; do
        turn "${pair% *}"
        printf '%s<|im_end|>\n' "${pair#* }"
    done
done >text
"$strata" tokenizer train --vocab 300 --special '<|im_start|>,<|im_end|>' text -o t.json \
    >/dev/null 2>&1
cat >m.lua <<'END'
return model { name = "m", vocab = 300, context = 96, dim = 32, tokenizer = "t.json",
  norm = rmsnorm {}, train = { batch = 8, optimizer = adamw { lr = 5e-3 } },
  layers = times(2, layer { attention { heads = 2, rope = {} }, mlp { hidden = 64 } }) }
END
"$strata" build m.lua >/dev/null
./m train --data text --steps 100 --threads 1 >/dev/null 2>&1
weights='--weights m.safetensors --temperature 0 --threads 1'

# Each answer is what generate makes of all that was said.
# shellcheck disable=SC2086
printf 'one\nred blue\nsun and one\n' | ./m chat $weights --max-tokens 5 >found 2>said
grep -q '^template: chatml$' said || fail "found: $(cat said)"
history=
for line in one 'red blue' 'sun and one'; do
    history="$history$(turn "$line")
"
    # shellcheck disable=SC2086
    answer=$(./m generate $weights --max-tokens 5 --prompt "$history"; printf x)
    answer=${answer%
x} # it ends the line
    printf '%s\n' "$answer"
    history="$history$answer<|im_end|>
"
done >wanted
cmp found wanted || fail "expected $(cat wanted), found $(cat found)"

# After /reset there is no past; a special token in a message is text.
# shellcheck disable=SC2086
printf 'one\n/reset\none\n' | ./m chat $weights 2>/dev/null >found
[ "$(sed -n 1p found)" = "$(sed -n 2p found)" ] || fail "expected equal answers, found $(cat found)"
# shellcheck disable=SC2086
printf 'one<|im_end|>\n' | ./m chat $weights --max-tokens 3 >/dev/null 2>&1 ||
    fail "expected a special token in a message to be text"

# A message of two lines, and one that begins with a slash; a command that is none is told.
says() {        # says MESSAGE INPUT: the answer is that of the message
    # shellcheck disable=SC2086
    printf "$2" | ./m chat $weights --max-tokens 3 >found 2>said
    # shellcheck disable=SC2086
    ./m generate $weights --max-tokens 3 --prompt "$(turn "$1")
" >wanted
    [ "$(cat found)" = "$(cat wanted)" ] || fail "$1: expected $(cat wanted), found $(cat found)"
}
says 'one
two' 'one\\\ntwo\n'
says '/one' '//one\n'
says '\' '\\' # the input ends: nothing goes on
says '/etc/one is' '/etc/one is\n'
says '/reset it' '/reset it\n'
says '/reset' '//reset\n'
says 'one' '/rest\none\n'
grep -q '^note: expected /reset, /quit or /help, found /rest: it was not said' said ||
    fail "expected the command to be told, found $(cat said)"
sed 's/"m"/"g"/; s/t.json/g.json/' m.lua >g.lua
sed 's/im_start|>/start_of_turn>/g; s/im_end|>/end_of_turn>/g; s/<|start/<start/g; s/<|end/<end/g' \
    t.json >g.json
"$strata" build g.lua >/dev/null
./g train --data text --steps 0 --threads 1 --out g.safetensors --quiet
printf 'one\n' | ./g chat --weights g.safetensors --temperature 0 --max-tokens 3 --system 'be' \
    >found 2>said || fail "gemma: $(cat said)"
./g generate --weights g.safetensors --temperature 0 --max-tokens 3 --prompt '<start_of_turn>user
be

one<end_of_turn>
<start_of_turn>model
' >wanted
[ "$(cat found)" = "$(cat wanted)" ] || fail "gemma: expected $(cat wanted), found $(cat found)"

refused() {     # refused STATUS WORDS INPUT OPTION...
    wanted=$1 words=$2 input=$3
    shift 3
    status=0
    # shellcheck disable=SC2086
    printf "$input" | ./m chat $weights "$@" >out 2>said || status=$?
    [ $status = "$wanted" ] || fail "$*: exit status $status"
    grep -q "^error: chat: $words" said || fail "found: $(cat said)"
}
refused 1 "--template: expected a tokenizer with the token '<|start_header_id|>', which llama3" \
    'a\n' --template llama3
refused 2 '--template: expected one of chatml, llama3, gemma, mistral, plain, found' 'a\n' \
    --template 'x\033[2J'
refused 1 '--system: expected a template that has a system message, found mistral' 'a\n' \
    --template mistral --system x
refused 1 'expected a conversation of at most the context, 96 tokens, found' "$(seq -s ' ' 100)\n"
refused 3 'expected a message of at most 12288 bytes' "$(head -c 13000 /dev/zero | tr '\0' a)"

# An interrupt drops what was typed and ends an answer; the program goes on.
mkfifo typed
sed 's/context = 96/context = 200000/; s/"m"/"long"/; s/t.json/bytes/' m.lua >long.lua
"$strata" build long.lua >/dev/null
yes text | head -c 300000 >more
./long train --data more --steps 0 --out long.safetensors >/dev/null 2>&1
# bytes have no end token: only an interrupt ends an answer of 200000 of them
env --default-signal=INT ./long chat --weights long.safetensors --threads 1 --template mistral \
    <typed >found 2>greeting &
child=$!
exec 3>typed
until grep -qs template greeting; do kill -0 $child || fail "expected it to begin"; sleep 0.05; done
printf 'a line that is nev' >&3
sleep 0.1
kill -INT $child
sleep 0.1
printf 'one\n' >&3
until [ -s found ]; do kill -0 $child || fail "expected an answer"; sleep 0.05; done
kill -INT $child
printf '/quit\n' >&3
exec 3>&-
status=0
wait $child || status=$?
[ $status = 0 ] || fail "expected an interrupt not to end the program, found status $status"
[ "$(wc -c <found)" -lt 190000 ] || fail "expected an interrupt to end the answer"
echo "chat: $(wc -l <wanted) answers as generate has them, refusals, interrupts"
