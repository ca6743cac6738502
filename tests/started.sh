#!/bin/sh
# SPDX-License-Identifier: MIT
# Every command of strata and of a program, started as shells and services may start it: standard
# streams closed, little stack, few files, little memory, files that may not grow.
#   sh tests/started.sh STRATA
set -u
# who runs tests may have left descriptors open, which count among those of 'ulimit -n'
exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-
. "$(dirname "$0")/support/work.sh"
fail() { echo "started.sh: $*" >&2; head -c 2000 err >&2; exit 1; }

cat >m.lua <<'END'
return model { name = "m", vocab = 256, context = 32, dim = 16, tokenizer = "bytes",
  norm = rmsnorm {},
  layers = times(1, layer { attention { heads = 2, rope = {} },
                            mlp { hidden = 32, activation = "swiglu" } }) }
END
yes 'the quick brown fox jumps over the lazy dog' | head -c 3000 >text
printf '{"context": "the", "continuation": " quick"}\n' >pairs.jsonl
python3 -c 'import json, struct
def tensor(at): return {"dtype": "I32", "shape": [1, 4], "data_offsets": [at, at + 16]}
head = json.dumps({"tokens": tensor(0), "targets": tensor(16)}).encode()
open("ids", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<8i", *range(1, 9)))' ||
    fail python3
{ "$strata" build m.lua -o m && ./m train --data text --steps 2 --out w --quiet &&
    "$strata" export m.lua --weights w --to hf hf; } >/dev/null 2>err || fail "fixtures"

cat >commands <<'END'
"$strata" check m.lua
"$strata" build m.lua -o o.m --no-kernel-cache
"$strata" build m.lua -o o.so --emit shared
"$strata" inspect m.lua --kernels
"$strata" compare m.lua m.lua
"$strata" compare m.lua m.lua --train text --steps 2
"$strata" run m.lua info
"$strata" tokens text --spec m.lua -o o.ids
"$strata" weights list w
"$strata" weights strip w -o o.w
"$strata" quantize w --spec m.lua -o o.q8
"$strata" export m.lua --weights w --to hf o.hf --check
"$strata" export m.lua --weights w --to gguf o.gguf --check
"$strata" import hf -o o.im
"$strata" tokenizer train text --vocab 300 -o o.json
"$strata" init o.init
"$strata" doctor
"$strata" completion bash
"$strata" --help
./m info
./m train --data text --steps 2 --out o.w
./m eval -w w --data text
./m generate -w w -p the --max-tokens 3
./m chat -w w --template plain
./m logits -w w --tokens ids --out o.l
./m gradients -w w --tokens ids --out o.g
./m bench --steps 1
./m probe -w w --data text
./m score -w w pairs.jsonl
./m completion bash
END

# started HOW WORD: runs 'line' after HOW; status and what it made are compared by the caller
started() {
    rm -rf o.* cache
    (eval "$1"; eval "$line $2") 2>err
    status=$?
    made=$(echo o.*)
    [ -z "$(ls -A tmp)" ] || fail "$line, $1 $2: left $(ls -A tmp)"
}
rows=0
while read -r line; do
    started : '</dev/null >/dev/null'
    [ $status = 0 ] || fail "$line: status $status"
    whole=$made
    # Closed streams: all that is not printed is made; what is printed and cannot be is an error.
    for closed in 0 1 2 01 02 12 012; do
        how='</dev/null >/dev/null' printed=
        case $closed in *0*) how="$how <&-" ;; esac
        case $closed in *1*) how="$how >&-" printed=4 ;; esac
        case $closed in *2*) how="$how 2>&-" ;; esac
        started : "$how"
        case $status in 0 | $printed) ;; *) fail "$line, closed $closed: status $status" ;; esac
        [ "$made" = "$whole" ] || fail "$line, closed $closed: made $made instead of $whole"
        rows=$((rows + 1))
    done
    for stack in 2048 512 128 64; do
        [ -z "${STRATA_SANITIZE:-}" ] || continue
        started "ulimit -s $stack" '</dev/null >/dev/null'
        [ $status = 0 ] && [ "$made" = "$whole" ] ||
            fail "$line, a stack of $stack kB: status $status, made $made"
        rows=$((rows + 1))
    done
    # What the shell allows is named where it is too little; nothing is half made.
    for limit in -d:20000 -d:60000 -f:1 -n:4 -n:5 -n:6 -n:8; do
        how="ulimit ${limit%:*} ${limit#*:}"
        [ -z "${STRATA_SANITIZE:-}" ] || continue
        case $limit in
        -n:*) command -v prlimit >/dev/null || continue
            rm -rf o.* cache
            eval "prlimit --nofile=${limit#*:} $line" </dev/null >/dev/null 2>err
            status=$? ;;
        *) started "$how" '</dev/null >/dev/null' ;;
        esac
        rows=$((rows + 1))
        [ $status != 0 ] || continue
        case $status in 3 | 4) ;; *) fail "$line, $how: status $status" ;; esac
        grep -q "ulimit ${limit%:*}" err || fail "$line, $how: expected the limit's name"
        [ -z "$(ls -A tmp)" ] || fail "$line, $how: left $(ls -A tmp)"
    done
done <commands
echo "started: $rows starts"
