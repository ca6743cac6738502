#!/bin/sh
# SPDX-License-Identifier: MIT
# No circle of files: what a file calls or reads in another one does not lead back to it, so that
# each can be read, and moved, with those below it.  A table of functions, as the op table is, is
# data: that it names them is no call.  Nothing of a library is defined in a program's own file.
#   sh tests/circles.sh BUILD    of the libraries, the programs and the kernels in this build folder
set -eu
build=$1
llvm_nm=$(sed -n 's/^LLVM_LINK:[^=]*=\(.*\)llvm-link\(.*\)$/\1llvm-nm\2/p' "$build/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "circles.sh: $*"; exit 1; }
libraries=$(find "$build/compiler" "$build/runtime" -name 'libstrata_*.a')
[ "$(printf '%s\n' "$libraries" | wc -l)" -ge 10 ] ||
    fail "expected a folder of a build, found no libraries in $build"

# "FILE SYMBOL" of what a file defines for others, and of what its code names.  Files of different
# libraries may have the same name.
for library in $libraries; do
    name=${library##*/libstrata_}
    name=${name%.a}
    nm -A -g -P --defined-only "$library" |
        sed -n "s/^.*\\[\\([^]]*\\)\\.c\\.o\\]: \\([^ ]*\\) .*/$name:\\1 \\2/p" >> "$work/defined"
    LC_ALL=C readelf -rW "$library" | awk -v name="$name" '
        /^File:/ { file = $0; sub(/.*\(/, "", file); sub(/\.c\.o\).*/, "", file) }
        /^Relocation section/ { text = $3 ~ /\.rela?\.text/ }
        text && $1 ~ /^[0-9a-f]+$/ && NF >= 5 { print name ":" file, $5 }' >> "$work/named"
done
# strata's own file is above all libraries.
main=$(find "$build/compiler/commands" -path '*/strata.dir/*' -name main.c.o)
[ -n "$main" ] || fail "expected the object of strata's main.c in $build/compiler, found none"
nm -g -P --defined-only "$main" | sed 's/ .*//' | grep -vx main > "$work/own" || true
if sort -u "$work/named" | awk '
    FNR == NR { own[$1] = 1; next }
    $2 in own { print $1 " names " $2; found = 1 }
    END { exit !found }' "$work/own" -; then
    fail "expected nothing of a library in main.c, found those above"
fi
# The kernels and the model's driver are bitcode: all their edges, for the first of the levels.
level=$(find "$build/runtime/model" -name 'driver.*.bc' | sort | head -1)
level=${level##*/driver.}
[ -n "$level" ] || fail "expected the bitcode of the driver in $build/runtime/model, found none"
for object in "$build/runtime/model/"*."$level"; do
    file=model:$(basename "$object" ".$level")
    case $file in model:kernels_* | model:called_*) continue ;; esac
    "$llvm_nm" -g -P --defined-only "$object" 2> "$work/empty" |
        sed "s/^\\([^ ]*\\) .*/$file \\1/" >> "$work/defined"
    "$llvm_nm" -P --undefined-only "$object" 2> "$work/empty" |
        sed "s/^\\([^ ]*\\) .*/$file \\1/" >> "$work/named"
done
# A name that two libraries define means, in either, its own.
sort -u "$work/named" | awk '
    { split($1, part, ":"); library = part[1] }
    FNR == NR { file[$2] = $1; own[library, $2] = $1; next }
    $2 in file {
        at = (library, $2) in own ? own[library, $2] : file[$2]
        if (at != $1) print $1, at, $2
    }' "$work/defined" - > "$work/edges"
[ "$(wc -l < "$work/edges")" -ge 1000 ] || fail "expected thousands of calls, found few"
cut -d ' ' -f 1,2 "$work/edges" | sort -u | tsort > "$work/order" 2> "$work/loops" || {
    # tsort names the files of a circle, one a line, after "input contains a loop"
    awk '
        FNR == NR && /contains a loop/ { n++; next }
        FNR == NR { in_loop[$2] = in_loop[$2] " " n " "; next }
        {
            split(in_loop[$1], of, " ")
            for (i in of)
                if (index(in_loop[$2], " " of[i] " "))
                    call[of[i] " " $1 " calls " $2] = call[of[i] " " $1 " calls " $2] " " $3
        }
        END { for (c in call) print "circle " c ":" call[c] }' "$work/loops" "$work/edges" | sort
    fail "expected no circle of files, found those above"
}
echo "circles: none; $(wc -l < "$work/order") files make $(wc -l < "$work/edges") calls of others"
