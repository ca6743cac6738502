#!/bin/sh
# SPDX-License-Identifier: MIT
# A pipe that nobody writes, a device and a folder in the place of every file that a command line
# names: told at once, nothing waits, nothing is read from them or written to them. Names that
# drive terminals or are no UTF-8, and weights that give no number.
#   sh tests/odd_files.sh STRATA
set -u
. "$(dirname "$0")/support/work.sh"
fail() { echo "odd_files.sh: $*" >&2; head -c 2000 out err >&2; exit 1; }

cat >m.lua <<'END'
return model { name = "m", vocab = 256, context = 32, dim = 32, tokenizer = "bytes",
  norm = rmsnorm {},
  layers = times(1, layer { attention { heads = 2, rope = {} },
                            mlp { hidden = 32, activation = "swiglu" } }) }
END
sed 's/"bytes"/"chars"/' m.lua >c.lua
yes 'the quick brown fox jumps over the lazy dog' | head -c 3000 >text
printf '{"context": "the", "continuation": " quick"}\n' >pairs.jsonl
ids() { python3 -c 'import json, struct
def tensor(at): return {"dtype": "I32", "shape": [1, 4], "data_offsets": [at, at + 16]}
head = json.dumps({"tokens": tensor(0), "targets": tensor(16)}).encode()
open("ids", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<8i", *range(1, 9)))'; }
{ ids && "$strata" build m.lua -o m && ./m train --data text --steps 2 --out w --quiet &&
    "$strata" build m.lua --emit shared -o m.so && "$strata" build c.lua -o c &&
    "$strata" build c.lua --emit shared -o c.so && ./c train --data text --steps 1 --out cw &&
    "$strata" export m.lua --weights w --to hf hf &&
    "$strata" tokenizer train text --vocab 300 -o t.json &&
    ./m eval -w w --data text --json >beside; } >out 2>err || fail fixtures
mkfifo pipe
mkdir folder

# == Every file of every command ==============================================
# @ is the odd one; 'ok-folder' commands take folders there
cat >commands <<'END'
"$strata" check @
"$strata" build @
"$strata" build m.lua -o @
"$strata" build m.lua -o o --depfile @
"$strata" inspect @
"$strata" inspect m.lua --json -o @
"$strata" compare m.lua @
"$strata" compare m.lua m.lua -o @
"$strata" compare m.lua m.lua --train @ --steps 1
"$strata" compare m.lua m.lua --train text --val @ --steps 1
"$strata" compare m.lua m.lua --train text --init @ --steps 1
"$strata" run @ info
"$strata" import @ -o im
"$strata" import hf -o im --importer @
"$strata" export @ --weights w --to hf o
"$strata" export m.lua --weights @ --to hf o
"$strata" export m.lua --weights w --to gguf @
"$strata" export m.lua --weights w --to gguf @ --overwrite
"$strata" tokenizer train @ --vocab 300 -o o
"$strata" tokenizer train text --vocab 300 -o @
"$strata" tokenizer info @
"$strata" tokenizer encode @ hello
"$strata" tokenizer decode @ 1
"$strata" tokens @ --spec m.lua -o o
"$strata" tokens text --spec m.lua -o @
"$strata" tokens text --spec @ -o o
"$strata" tokens text --tokenizer @ -o o
"$strata" tokens text --tokenizer chars --weights @ -o o
"$strata" weights list @
"$strata" weights diff w @
"$strata" weights strip w -o @
"$strata" quantize @ --spec m.lua -o o
"$strata" quantize w --spec @ -o o
"$strata" quantize w --spec m.lua -o @
./m train --data @ --out o
./m train --data text --out @
./m train --data text --steps 1 --init @ --out o
./m train --data text --steps 1 --val @ --out o
./m train --data text --steps 1 --log @ --out o
./m train --data text --steps 1 --tokenizer @ --out o
./m train --resume --out @
./m eval -w @ --data text
./m eval -w w --data @
./m eval -w w --data text --beside @
./m generate -w @ -p the
./m generate -w w -p the --draft @ --draft-weights w
./m generate -w w -p the --draft ./m.so --draft-weights @
./m generate -w w -p the --tokenizer @
./m chat -w @
./m logits -w w --tokens @ --out o
./m logits -w w --tokens ids --out @
./m gradients -w w --tokens ids --out @
./m probe -w @ --data text
./m probe -w w --before @ --data text
./m probe -w w --data text -o @
./m score -w @ pairs.jsonl
./m score -w w @
END
rows=0
while read -r line; do
    for odd in pipe /dev/zero /dev/tty folder; do
        rm -rf o im.*
        # shellcheck disable=SC2086
        eval "timeout 20 $(echo "$line" | sed "s#@#$odd#")" >out 2>err </dev/null
        status=$?
        rows=$((rows + 1))
        case $status,$odd,$line in
        # a device takes what is written to it
        0,/dev/zero,*" -o @" | 0,/dev/zero,*" -o @ "* | 0,/dev/zero,*"--out @" | \
            0,/dev/zero,*"--log @ "* | 0,/dev/zero,*"--depfile @"* | 0,/dev/zero,*"gguf @"*) ;;
        [124],*) grep -q "^error: " err || fail "$line, $odd: expected a message" ;;
        *)  # an empty folder is data without files
            fail "$line, $odd: status $status" ;;
        esac
        [ -p pipe ] && [ -d folder ] || fail "$line, $odd: replaced it"
    done
done <commands

# == Drafts: the kind of tokenizer, both ways ==================================
says() {    # says STATUS PATTERN COMMAND ...
    wanted=$1 pattern=$2
    shift 2
    "$@" >out 2>err </dev/null
    status=$?
    [ $status = "$wanted" ] || fail "expected status $wanted of $*, found $status"
    grep -q -- "$pattern" err || fail "expected '$pattern' of $*"
}
says 1 "found 256 ids of 'chars', not 256 of 'bytes'" \
    ./m generate -w w -p the --draft c.so --draft-weights cw
says 1 "found 256 ids of 'bytes', not 256 of 'chars'" \
    ./c generate -w cw -p the --draft m.so --draft-weights w
says 1 "found 256 ids of 'bytes'" ./c chat -w cw --template plain --draft m.so --draft-weights w

# == Names ====================================================================
drives=$(printf 'a\033[2J\nb')
cp text "$drives" && cp w "$drives.w"
for command in "./m train --data" "./m train --steps 1 --overwrite --init $work/w --data"; do
    # shellcheck disable=SC2086
    $command "$drives" --steps 1 --overwrite --out "$drives.st" >out 2>err || fail "$command"
    ! LC_ALL=C grep -q "$(printf '\033')" out err || fail "$command: a control character"
done
./m train --data text --init "$drives.w" --steps 1 --overwrite --out o >out 2>err || fail init
grep -q 'a\\x1b\[2J\\nb.w: ' out || fail "expected the name, escaped"
latin=$(printf 'caf\351 \\x')
cp text "$latin"
./m train --data "$latin" text --val "$latin" --steps 2 --overwrite --out o >out 2>err || fail latin
./m train --resume --steps 4 --out o >out 2>err || fail "a name that is no UTF-8 is not found again"
./m train --data "$latin" text --val "$latin" --steps 4 --overwrite --out p >out 2>err || fail latin
cmp o p || fail "expected the bits of a run that never stopped"
rm "$latin"
says 1 'the run was begun with it; --data says where it is now' ./m train --resume --steps 6 --out o

# == Weights that give no number ===============================================
python3 - <<'END' || fail python3
import json, struct
b = open("w", "rb").read()
n = struct.unpack("<Q", b[:8])[0]
h = json.loads(b[8:8 + n])
del h["__metadata__"]["checksum"]
at, end = h["layers.0.mlp.up.weight"]["data_offsets"]
for name, value, count in ("nan", float("nan"), 1), ("inf", float("-inf"), 1), ("big", 3e38, 0):
    d = bytearray(b[8 + n:])
    for i in range(at, at + 4 * count if count else end, 4):
        d[i:i + 4] = struct.pack("<f", value)
    j = json.dumps(h).encode()
    open(name, "wb").write(struct.pack("<Q", len(j)) + j + d)
END
for w in nan inf big; do
    while read -r line; do
        rm -rf o o.*
        # shellcheck disable=SC2086
        echo hi | eval "$line" >out 2>err
        status=$?
        case $status in 1 | 6) ;; *) fail "$line, $w: status $status" ;; esac
        grep -q 'finite\|can hold\|weights below' err || fail "$line, $w: no reason"
        [ ! -e o ] || fail "$line, $w: wrote something"
    done <<END
./m eval -w $w --data text
./m generate -w $w -p the
./m chat -w $w --template plain
./m probe -w $w --data text
./m probe -w w --before $w --data text
./m score -w $w pairs.jsonl
./m logits -w $w --tokens ids --out o
./m logits -w $w --tokens ids --out o --as-generated
./m gradients -w $w --tokens ids --out o
./m train --init $w --data text --steps 1 --out o
"$strata" quantize $w --spec m.lua -o o
"$strata" export m.lua --weights $w --to gguf o --type f16
"$strata" compare m.lua m.lua --init $w --train text --steps 1
END
done
echo "odd_files: $rows files, all told"
