#!/bin/sh
# SPDX-License-Identifier: MIT
# No circle of files: what a file calls or reads in another one does not lead back to it, so that
# each can be read, and moved, with those below it.  A table of functions, as the op table is, is
# data: that it names them is no call.
#   sh tests/circles.sh BUILD    of the libraries and the kernels' objects in this build folder
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libraries=$(find "$build/compiler" "$build/runtime" -name 'libstrata_*.a')
[ "$(printf '%s\n' "$libraries" | wc -l)" -ge 10 ] ||
    { echo "circles.sh: expected a folder of a build, found no libraries in $build"; exit 1; }

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
# The kernels, as their tests have them: for one of the levels.
for object in $(find "$build/tests" -maxdepth 1 -name '*.avx2.o'); do
    file=kernels:$(basename "$object" .avx2.o)
    nm -g -P --defined-only "$object" | sed "s/^\\([^ ]*\\) .*/${file} \\1/" >> "$work/defined"
    LC_ALL=C readelf -rW "$object" | awk -v file="$file" '
        /^Relocation section/ { text = $3 ~ /\.rela?\.text/ }
        text && $1 ~ /^[0-9a-f]+$/ && NF >= 5 { print file, $5 }' >> "$work/named"
done
sort -u "$work/named" | awk '
    FNR == NR { file[$2] = $1; next }
    $2 in file && file[$2] != $1 { print $1, file[$2], $2 }' "$work/defined" - > "$work/edges"
[ "$(wc -l < "$work/edges")" -ge 1000 ] ||
    { echo "circles.sh: expected thousands of calls between files, found few"; exit 1; }
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
    echo "circles.sh: expected no circle of files, found those above"
    exit 1
}
echo "circles: none; $(wc -l < "$work/order") files make $(wc -l < "$work/edges") calls of others"
