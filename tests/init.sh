#!/bin/sh
# SPDX-License-Identifier: MIT
# strata init, doctor and run, as a user meets them:  sh tests/init.sh STRATA
# What init writes builds and trains, replaces nothing, is clean for luacheck, and its
# annotations are a Lua file that knows every constructor.
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "init.sh: $*" >&2; exit 1; }

"$strata" init first >list
for file in model.lua echo.lua .luarc.json .luacheckrc .strata/strata.lua; do
    [ -s "first/$file" ] || fail "expected first/$file, found none"
    grep -q "first/$file" list || fail "expected first/$file to be listed"
done
grep -q '^next: strata build first/model.lua$' list || fail "expected the next command"
cp -r first before
! "$strata" init first 2>error || fail "expected a second init to be refused"
wanted='expected a folder without model.lua, or --overwrite, found one in first'
grep -q "^error: strata init: $wanted\$" error || fail "found: $(cat error)"
diff -r first before || fail "expected a refused init to change nothing"
mkdir bare && (cd bare && "$strata" init >/dev/null && "$strata" check model.lua >/dev/null)

for name in model layer times attention mlp rmsnorm layernorm adamw constant cosine wsd \
    standard haares hyper softmax silu rope norm moe; do
    grep -q "^function $name(" first/.strata/strata.lua || fail "expected annotations of $name"
done
grep -q '^---@field kernel? "softmax"|"sigmoid"|"linear"' first/.strata/strata.lua ||
    fail "expected the values of kernel"
if command -v luacheck >/dev/null; then
    (cd first && luacheck --no-color -q model.lua echo.lua .strata/strata.lua) ||
        fail "expected luacheck to be content"
    echo 'return modle { name = 1 }' >first/wrong.lua
    ! (cd first && luacheck --no-color -q wrong.lua >/dev/null) ||
        fail "expected luacheck to find an unknown name"
else
    echo "luacheck is not there: not run"
fi

export XDG_CACHE_HOME="$work/cache"
yes 'a little text ' | head -c 20000 >text
sed -i -e 's/times(6/times(1/' -e 's/attnres { blocks = 4/attnres { blocks = 2/' \
    -e 's/context = 256/context = 32/; s/default = 128/default = 32/' first/model.lua
"$strata" run first/model.lua info >info || fail "expected run to build and run"
grep -q first info || fail "expected info to name the model"
program=$(find cache -type f -name first)
touch -d '2 days ago' "$program"
"$strata" run first/model.lua train --data text --steps 2 >/dev/null ||
    fail "expected run to pass arguments on"
[ "$(find cache -type f -name first -mtime +0)" = "$program" ] ||
    fail "expected the program of the cache to be used again"
status=0
"$strata" run first/model.lua nonsense 2>/dev/null || status=$?
[ $status = 2 ] || fail "expected the program's exit status 2, found $status"
"$strata" run -D width=64 first/model.lua info >/dev/null
[ "$(find cache -type f -name first | wc -l)" = 2 ] ||
    fail "expected another program for another spec"

"$strata" doctor >report || fail "expected doctor to be content here"
for row in strata processor 'builds for' memory cc ar objcopy libstrata next; do
    grep -q "^$row  *[^ ]" report || fail "expected doctor to say: $row"
done
grep -q '^rates  *not measured' report || fail "expected doctor to say that rates are not measured"
"$strata" inspect first/model.lua | grep -q 'rates of its kind: strata doctor --measure' ||
    fail "expected inspect to say whose rates it predicts by"
"$strata" doctor --measure >report || fail "expected doctor to measure"
grep -q '^rates  *[0-9]* threads: products [0-9.]* GFLOP/s' report || fail "expected rates"
"$strata" doctor | grep -q '^rates  *measured' || fail "expected the rates to be kept"
"$strata" inspect first/model.lua | grep -q "by this machine's rates" ||
    fail "expected inspect to predict by the rates that were kept"
echo '{"products_per_second": 0}' >"$(ls cache/strata/rates-*.json)"
"$strata" doctor | grep -q '^rates  *not measured' || fail "expected no other rates to be taken"
status=0
PATH=/none "$strata" doctor >report 2>error || status=$?
[ $status = 1 ] || fail "expected doctor to miss cc, found exit status $status"
grep -q '^cc  *missing: apt-get install gcc' report || fail "expected what to install"
echo "init, run and doctor: as expected"
