#!/bin/sh
# SPDX-License-Identifier: MIT
# strata, libstrata.so and what strata builds are hardened, and no program of the build tree loads
# libraries from the folder in which it is started:
#   sh tests/hardening.sh BUILD
set -eu
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "hardening.sh: $*"; exit 1; }

# Libraries are not sought in the current folder, or in one relative to it.
search_path() {
    paths=$(readelf -d "$1" | sed -n 's/.*(R\(UN\)\{0,1\}PATH).*\[\(.*\)\]$/\2/p')
    [ -n "$paths" ] || return 0
    printf '%s\n' "$paths" | tr ':' '\n' | grep -v '^/' >relative || return 0
    fail "$1: expected absolute folders in its path of libraries, found '$paths'"
}

# The addresses of functions cannot be written, nor the stack be executed; a program has no fixed
# address.
shut() {
    readelf -lW "$1" >segments
    readelf -dW "$1" >entries
    readelf -hW "$1" | grep -q 'Type: *DYN' || fail "$1: expected code for any address"
    grep -q GNU_RELRO segments || fail "$1: expected RELRO, found none"
    grep -qE 'BIND_NOW|Flags:.*NOW' entries || fail "$1: expected BIND_NOW, found none"
    grep -q 'GNU_STACK.* RW ' segments || fail "$1: expected a stack that is not executed"
    grep -q TEXTREL entries && fail "$1: expected no relocations in code"
    return 0
}

# Canaries and libc's functions with bounds.
guarded() {
    nm -D "$1" | awk '{ print $NF }' | sed 's/@.*//' >needs
    grep -qx __stack_chk_fail needs || fail "$1: expected canaries on stacks, found none"
    grep -qx '__[a-z]*_chk' needs || fail "$1: expected functions of libc with bounds, found none"
}

programs=0
for file in "$build"/strata "$build"/runtime/libstrata.so "$build"/tests/*; do
    if [ -d "$file" ] || [ "$(head -c 4 "$file" | tr -d '\177')" != ELF ]; then continue; fi
    search_path "$file"
    programs=$((programs + 1))
done
[ $programs -gt 100 ] || fail "expected the build tree's programs, found $programs"
printf '%s\n' 'return model { name = "tiny", vocab = 256, context = 8, dim = 8,' \
    '  tokenizer = "bytes", norm = rmsnorm {},' \
    '  layers = times(1, layer { mlp { hidden = 8 } }) }' >tiny.lua
"$build"/strata build tiny.lua
"$build"/strata build tiny.lua --emit shared -o tiny.so
library=$build/runtime/libstrata.so
for file in "$build"/strata "$library" ./tiny ./tiny.so; do
    search_path "$file"
    shut "$file"
    [ "$file" = ./tiny.so ] && continue         # it calls memcpy and its like only
    [ -n "${STRATA_SANITIZE:-}" ] || guarded "$file"       # sanitizers have their own
done

# A library of the name that strata needs, in the folder where somebody types its name.
printf '%s\n' '#include <unistd.h>' \
    '__attribute__((constructor)) static void planted(void) { _exit(77); }' >planted.c
readelf -d "$build"/strata | sed -n 's/.*NEEDED.*\[\(lib[^cm].*\)\]/\1/p' >needed
[ -s needed ] || fail "expected libraries that strata needs, found none"
while read -r library; do
    cc -shared -fPIC -o "$library" planted.c
    "$build"/strata --version >version || fail "$library of the current folder was loaded"
    rm "$library"
done <needed
echo "hardening: $programs programs, $(wc -l <needed) planted libraries"
