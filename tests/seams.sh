#!/bin/sh
# SPDX-License-Identifier: MIT
# What has a place of its own stands there only:  sh tests/seams.sh
# Words of processors: in runtime/target and compiler/codegen/target, a folder and a file of each.
# Command lines and terminals: in runtime/commands, not in runtime/session, which servers use too.
# Numbers of an action's references: in runtime/model/anchors.def, which names them.
# An operation with a kernel of its own: in few files, so that one more touches at most six.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "seams.sh: $*"; exit 1; }
sources=$(find compiler runtime specs -type f \
    \( -name '*.[ch]' -o -name '*.def' -o -name '*.lua' -o -name CMakeLists.txt \))
targets=$(ls compiler/codegen/target | grep -vE '^target' | sed 's/\.c$//')
for target in $targets; do
    [ -d "runtime/target/$target" ] ||
        fail "expected runtime/target/$target beside compiler/codegen/target/$target.c, found none"
done

# allowed FILE: whether it is a target's own
allowed() {
    case $1 in
    runtime/target/*/*) ;;
    compiler/codegen/target/target*) return 1 ;;
    compiler/codegen/target/*) ;;
    *) return 1 ;;
    esac
}
# "\x86" is a byte
words="(^|[^a-z0-9\\\\])(avx[0-9a-z]*|sse[0-9]*|amx[0-9a-z]*|mxcsr|cpuid|aarch64|neon)($|[^a-z0-9])"
words="$words|(^|[^\\])x86|__builtin_ia32|_mm[0-9]*_|immintrin"
found=0
for file in $sources; do
    allowed "$file" || {
        lines=$(grep -niE "$words" "$file") || continue
        printf '%s\n' "$lines" | sed "s|^|$file:|"
        found=1
    }
done
[ $found = 0 ] || fail "expected words of processors in files of targets only, found those above"

words='OPTION_|(^|[^a-z_])option\(|"(options|program_options|completion|console|standalone)\.h"'
words="$words|isatty|STD(IN|OUT|ERR)_FILENO|(^|[^a-z_])(std(in|out|err)|f?printf|puts)($|[^a-z_])"
if lines=$(grep -nE "$words" runtime/session/*.[ch]); then
    fail "expected no command line and no terminal in runtime/session, found $lines"
fi

# "&r[0], r[5].stride", "k_refs[s->ref + 2]", "work_row(w, s, 1)": REF(action, name) says which
numbers='(^|[^a-z_])r\[[0-9]|->ref \+ [0-9]'
numbers="$numbers|(work_row|ids_of)\(w, s, [0-9]|stride_of\(s, [0-9]"
if grep -nE "$numbers" runtime/model/*.[ch]; then
    fail "expected REF(action, name) of runtime/model/anchors.def, found numbers above"
fi
actions=$(grep -ohwE 'DO_[A-Z_]+' runtime/model/*.[ch] compiler/codegen/tables/*.c | sort -u)
for action in $actions; do
    grep -qE "[(,] *${action#DO_}," runtime/model/anchors.def ||
        fail "expected a row of $action in runtime/model/anchors.def, found none"
done

# Files that name an operation of anchors.def: its row of the op table, its graph side, its Lua
# function, its action and its kernel.  Those that passes or reports treat on their own have a
# number here, which is lowered when one of their files goes.
row='^ANCHOR\( *([a-z_]+), +([A-Z_]+), +[a-z]+, +[0-9], +([a-z]+), +[A-Z]+, +([a-z_]+),.*'
rows=$(sed -nE "s/$row/\\1 \\2 \\3 \\4/p" runtime/model/anchors.def)
[ "$(echo "$rows" | wc -l)" = "$(grep -c '^ANCHOR(' runtime/model/anchors.def)" ] ||
    fail "anchors.def: expected rows of columns that are read here"
limit_of() {
    case $1 in
    attention) echo 19 ;;
    linear) echo 14 ;;
    gather | recurrence | rows) echo 13 ;;
    linear_back) echo 12 ;;
    embed) echo 11 ;;
    top) echo 10 ;;
    shift | attention_grad) echo 9 ;;
    *) echo 8 ;;
    esac
}
echo "$rows" | {
    found=0
    while read -r op action set run; do
        names="OP_$op|(shape|vjp|eval|k)_$op|DO_$action|$action, [a-z_]+\)|set_$set"
        # shellcheck disable=SC2046
        files=$(grep -lwE "$names|k_(run|count)_$run" \
            $(echo "$sources" | grep -E '\.([ch]|def)$'))
        count=$(echo "$files" | wc -l)
        [ "$count" -le "$(limit_of "$op")" ] && continue
        echo "seams.sh: $op: expected at most $(limit_of "$op") files that name it, found $count:"
        echo "$files"
        found=1
    done
    [ $found = 0 ]
} || exit 1
