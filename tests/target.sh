#!/bin/sh
# SPDX-License-Identifier: MIT
# Objects for other systems than Linux: their formats, and one line that says what they are without.
# A program for AVX-VNNI: it has the instruction, and says so where the processor does not.
#   sh tests/target.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "target.sh: $*"; exit 1; }
printf '%s\n' 'return model { name = "tiny", vocab = 9, context = 8, dim = 8, norm = rmsnorm {},' \
    '  layers = times(1, layer { mlp { hidden = 8 } }) }' >tiny.lua

# builds TRIPLE EMIT FILE NOTES
builds() {
    "$strata" build tiny.lua --emit "$2" --target "$1" -o "$3" 2>err >out || fail "$1: $(cat err)"
    [ "$(grep -c "^note: --target $1: nothing was linked, and libstrata" err)" = "$4" ] ||
        fail "$1: expected $4 notes, found $(cat err)"
    [ "$(wc -l <err)" = "$4" ] && [ ! -s out ] || fail "$1: says $(cat err out)"
}
magic() { od -An -tx1 -N4 "$1" | tr -d ' '; }
builds x86_64-unknown-linux-gnu obj linux.o 0
builds x86_64-apple-darwin obj darwin.o 1
builds x86_64-pc-windows-msvc obj windows.o 1
builds x86_64-apple-darwin static darwin.a 1
builds x86_64-pc-windows-msvc asm windows.s 1
builds x86_64-apple-darwin ir darwin.ll 1
[ "$(magic linux.o)" = 7f454c46 ] || fail "no ELF object: $(magic linux.o)"
[ "$(magic darwin.o)" = cffaedfe ] || fail "no Mach-O object: $(magic darwin.o)"
case $(magic windows.o) in 6486*) ;; *) fail "no COFF object: $(magic windows.o)" ;; esac
for object in darwin windows; do
    grep -q tiny_decode $object.h || fail "$object.h: no header"
done
grep -q 'target triple = "x86_64-apple-' darwin.ll || fail "$(grep triple darwin.ll)"

# Dot products of bytes, of vectors of 256 bits; without small weights the level is the plain one.
sed 's/dim = 8/dim = 64/; s/hidden = 8/hidden = 64/' tiny.lua >wide.lua
level=x86-64-v3+avxvnni
"$strata" build wide.lua --inference --weights q8 --cpu $level -o vnni || fail "$level"
"$strata" build wide.lua --inference --cpu $level -o plain || fail "$level, float32"
objdump -d vnni >vnni.s && grep -q 'vpdpbusd.*%ymm' vnni.s || fail "$level: no vpdpbusd"
grep -q 'vpdpbusd.*%zmm' vnni.s && fail "$level: a vpdpbusd of 512 bits"
./vnni info | grep -q "for $level," || fail "$level: $(./vnni info)"
./plain info | grep -q 'for x86-64-v3,' || fail "$level, float32: $(./plain info)"
if grep -qw avx_vnni /proc/cpuinfo; then
    ./vnni bench --decode 2 >out || fail "$level does not run"
else
    ! ./vnni bench --decode 2 >out 2>err || fail "$level runs where there is none"
    grep -q '^error: .*AVX-VNNI' err || fail "$level: says $(cat err)"
fi

# float32 in tiles, for a processor with AMX; dot products of bfloat16 are for bfloat16 alone.
"$strata" build wide.lua --cpu x86-64-v4+amx-bf16 -o tiles || fail "AMX, float32"
"$strata" build wide.lua --cpu x86-64-v4+avx512bf16 -o vectors || fail "AVX512-BF16, float32"
./tiles info | grep -q "for x86-64-v4+amx-bf16," || fail "AMX: $(./tiles info)"
./vectors info | grep -q "for x86-64-v4," || fail "AVX512-BF16, float32: $(./vectors info)"
objdump -d tiles >tiles.s && sed -n '/<unit_sums>:/,/^$/p' tiles.s | grep -q tdpbf16ps ||
    fail "AMX, float32: no tdpbf16ps in its products"
echo "target: objects for three systems, AVX-VNNI, AMX"
