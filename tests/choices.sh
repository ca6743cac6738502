#!/bin/sh
# SPDX-License-Identifier: MIT
# Options that specs declare: what -D chooses, on every command that reads a spec, and what
# remembers it.  What specs print.
#   sh tests/choices.sh STRATA
set -u
. "$(dirname "$0")/support/work.sh"
fail() { echo "choices.sh: $*" >&2; head -c 2000 out err 2>/dev/null; exit 1; }
# says STATUS PATTERN COMMAND ...: its status, and a line on standard error
says() {
    wanted=$1 pattern=$2
    shift 2
    "$@" >out 2>err
    [ $? = "$wanted" ] || fail "expected status $wanted of $*"
    grep -q -- "$pattern" err || fail "expected '$pattern' of $*"
}
shows() {    # shows PATTERN COMMAND ...: a line on standard output of what succeeds
    pattern=$1
    shift
    "$@" >out 2>err || fail "expected $* to succeed"
    grep -q -- "$pattern" out || fail "expected '$pattern' of $*"
}

cat >m.lua <<'END'
local o = option {
  width = { type = "integer", min = 8, max = 64, default = 16, help = "of the stream" },
  -- { blocks = 7 }
  mixer = { type = "string", one_of = { "standard", "haares" }, default = "standard" },
  lr = 3e-3,
  gate = { any_of = { { type = "number", above = 0 }, { type = "string", one_of = { "no" } } } },
  tied = true, tag = "a",
}
local mixers = { standard = standard {}, haares = haares { blocks = 2 } }
return model {
  name = "m", vocab = 256, context = 16, dim = o.width, tokenizer = "bytes",
  embedding = { tied = o.tied }, norm = rmsnorm {}, residual = mixers[o.mixer],
  layers = times(2, layer { attention { heads = 2 }, mlp { hidden = 8 } }),
  train = { optimizer = adamw { lr = o.lr }, batch = 2 },
}
END
sed '/^  width/d; s/o.width/16/; s/"m"/"n"/' m.lua >n.lua
echo 'return model { name = "p", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 } } } }' >plain.lua
yes 'the quick brown fox jumps over the lazy dog' | head -c 5000 >text

# == What is shown =============================================================
for command in "check m.lua" "inspect m.lua" "build m.lua --help" "help compare n.lua m.lua"; do
    shows '-D width=16  *an integer from 8 to 64: of the stream' "$strata" $command
done
shows 'dim 32,' "$strata" check m.lua -D width=32
shows '-D width=32 .*(16 unless chosen)' "$strata" check m.lua -Dwidth=32
shows 'dim 24,' "$strata" check m.lua -D width=32 -D width=24
values='"gate": 0.5, "lr": 0.003, "mixer": "haares", "tag": "a b", "tied": false, "width": 16'
shows "\"options\": {$values}.*\"residual\": \"haares\"" \
    "$strata" inspect m.lua --json -D mixer=haares -D gate=0.5 -D tied=false -D 'tag=a b'

# == What is refused ===========================================================
says 2 "^error: strata check: -D: expected NAME=VALUE, found 'width'" "$strata" check m.lua -D width
says 2 "^error: strata check: -D: expected NAME=VALUE, found '=3'" "$strata" check m.lua -D =3
says 1 "^error: m.lua:2: -D width: expected an integer from 8 to 64, found 'wide'" \
    "$strata" check m.lua -D width=wide
says 1 "^error: m.lua:2: -D width: .*found '65'" "$strata" build m.lua -D width=65
says 1 "^error: m.lua:4: -D mixer: expected 'standard' or 'haares', found 'mhc'" \
    "$strata" inspect m.lua -D mixer=mhc
says 1 "^error: m.lua:6: -D gate: expected a number greater than 0 or 'no', found '0'" \
    "$strata" check m.lua -D gate=0
says 1 "^error: m.lua:7: -D tied: expected true or false, found '1'" "$strata" check m.lua -D tied=1
says 1 "^error: -D widht: .* that the spec declares: .*width (m.lua:2); .* did you mean 'width'?" \
    "$strata" run m.lua info -D widht=32
says 1 '^error: -D x: expected a spec that declares it .*plain.lua has no options' \
    "$strata" check plain.lua -D x=1
says 2 '-D width=3: expected a spec' "$strata" tokens text -o t --tokenizer bytes -D width=3

# == What remembers it =========================================================
shows '^options  *-D lr=0.003 -D mixer=haares -D .tag=it.* b. -D tied=true -D width=32' \
    "$strata" run m.lua -D width=32 -D mixer=haares info -D "tag=it's b"
shows 'width=32' "$strata" run -D width=32 m.lua info
"$strata" build m.lua -D width=32 -o m || fail build
shows '"options": {"gate": null, "lr": 0.003, .*"width": 32}' ./m info --json
says 1 "^error: -D width: expected 32, which the program was built with, found '64'" \
    ./m info -D width=64
says 1 '^error: -D x: expected an option of the spec, found none; it was built with -D lr' \
    ./m info -D x=64
shows 'step' ./m train -D width=32.0 --data text --steps 2 --log log --out w.safetensors \
    --tensorboard 'the events'
shows "^    command      ./m train -D width=32.0 --data text .* --tensorboard 'the events'$" \
    cat 'the events'/*
shows '^    options      -D lr=0.003 .* -D width=32$' cat 'the events'/*
shows '^    parameters   [1-9][0-9]*$' cat 'the events'/*
shows '^    text         5000 tokens' cat 'the events'/*
shows '"options": {"gate": null, .*"width": 32}' head -n 1 log
shows '\\"width\\": 32' head -c 20000 w.safetensors
"$strata" build m.lua -o other || fail build
says 1 'w.safetensors: was trained with -D width=32, found width=16' \
    ./other train --resume --data text --steps 3 --out w.safetensors
"$strata" build m.lua -D width=16 -o same || fail build
[ "$(./same info --json | grep -o '"spec_hash": "[^"]*"')" = \
    "$(./other info --json | grep -o '"spec_hash": "[^"]*"')" ] || fail "a default that is chosen"

# == Comparisons ===============================================================
# an option of one of both is one of the comparison's
shows '"width": 32' "$strata" compare n.lua m.lua --json -D width=32 -o page.html
shows 'width=32' cat page.html
says 1 "^error: -D widht: .* that the specs declare: .*width (m.lua:2); found 'widht'" \
    "$strata" compare n.lua m.lua -D widht=32
shows '"sweep": .*"lr"' "$strata" compare n.lua m.lua --json -D mixer=haares -D tied=false \
    --train text --steps 4 --sweep lr=1e-3,2e-3 --threads 1

# values of one spec are variants
shows '"name": "tied=false, width=32"' \
    "$strata" compare m.lua m.lua:width=32,tied=false --json -D lr=1e-3 \
    --keep kept --train text --steps 4 --sweep lr=1e-3,2e-3 --threads 1
[ "$(grep -o '"options": {[^}]*' out | grep -o '[0-9]*$' | tr '\n' ' ')" = "16 32 " ] ||
    fail "expected two widths"
[ "$(find kept -name '*.jsonl' | wc -l)" = 4 ] || fail "expected four runs"
says 1 "^error: -D widht: .*did you mean 'width'?" "$strata" compare n.lua m.lua:widht=3
says 2 "^error: strata compare: expected SPEC:NAME=VALUE,..., found 'm.lua:width=3,x'" \
    "$strata" compare m.lua m.lua:width=3,x
says 2 'SPEC:NAME=VALUE' "$strata" compare m.lua n.lua --train text --steps 4 --sweep width=16,32

# == print =====================================================================
cat >p.lua <<'END'
local mine = require "mine"
print("a\27[31m", 1, 2.5, { 3, x = { y = "z" } }, nil, true, rmsnorm {})
return model {
  name = "p", vocab = 256, context = 16, dim = 16, tokenizer = "bytes", norm = rmsnorm {},
  residual = mine {}, layers = { layer { mlp { hidden = 8 } } },
}
END
cat >mine.lua <<'END'
return mixer {
  open = function(m, e) print(e) return e end,
  read = function(m, x, site) return x end,
  write = function(m, x, site, out) return x + out end,
  close = function(m, x) return x end,
}
END
first="p.lua:2: a\\x1b[31m 1 2.5 { 3, x = { y = 'z' } } nil true norm rmsnorm"
for command in check "build -o p" inspect "inspect --cost" "inspect --json"; do
    "$strata" $command p.lua >out 2>err || fail "strata $command"
    [ "$(grep -c . err)" = 2 ] && grep -qxF "$first" err &&
        grep -qx 'mine.lua:2: tensor \[tokens,16\], embed' err || fail "prints of strata $command"
done
# what is counted without its routes too is read twice
sed 's/mine {}/standard {}/; s/8 }/8 }, route = mod { capacity = 0.5 }/' p.lua >q.lua
for command in "inspect --cost" "inspect --json"; do
    "$strata" $command q.lua >out 2>err || fail "strata $command of a routed model"
    [ "$(grep -c . err)" = 1 ] || fail "prints of strata $command of a routed model"
done
"$strata" compare p.lua n.lua >out 2>err || fail "compare with prints"
[ "$(grep -c 'lua:2:' err)" = 2 ] || fail "prints of compare"
# an endless one ends, and has not filled the disk
echo 'while true do print(string.rep("x", 2000)) end' >endless.lua
says 3 'expected at most .* instructions' "$strata" check endless.lua
[ "$(grep -c '^endless.lua:1: x' err)" = 1000 ] && [ "$(wc -c <err)" -lt 1100000 ] &&
    grep -q '^endless.lua:1: what is printed after 1000 lines is left out$' err ||
    fail "endless prints"
echo "choices.sh: all is well"
