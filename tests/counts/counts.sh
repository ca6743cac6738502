#!/bin/sh
# SPDX-License-Identifier: MIT
# Instructions that the main kernels take, as compiled for x86-64-v3, beside those in counts.txt,
# which has a column for each LLVM.  callgrind counts them: the same ones on every processor and in
# every run.
#   sh tests/counts/counts.sh STRATA LLVM             fails where a count is off by more than 3 %
#   sh tests/counts/counts.sh STRATA LLVM --update    writes the column of this LLVM anew
# A count that rose is a regression, or worth a word in the commit; one that fell: update the
# table.  Kernels of a name are added up, whatever their sizes and layers.  77, "skipped": no
# valgrind, or no such column.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 llvm=$2 update=${3:-}
table=$here/counts.txt tolerance=3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v valgrind > /dev/null || { echo "skipped: valgrind is not installed"; exit 77; }

column=$(awk -v llvm="LLVM-$llvm" '
    $1 == "kernels" { for (i = 2; i <= NF; i++) if ($i == llvm) print i }' "$table")
[ -n "$column" ] || { echo "skipped: counts.txt has no column for LLVM $llvm"; exit 77; }

"$strata" build "$here/counts.lua" --no-kernel-cache --cpu x86-64-v3 --emit obj -o "$work/counts.o"
${CC:-cc} -std=gnu11 -O1 -fno-builtin -I"$work" "$here/counts.c" "$work/counts.o" -o "$work/counts"
valgrind -q --tool=callgrind --callgrind-out-file="$work/out" --dump-before=count_edge \
    "$work/counts" > "$work/names" 2> "$work/errors" || {
    status=$?
    cat "$work/errors"
    exit $status
}
number=0
while read -r what name; do
    number=$((number + 1))
    [ "$what" = - ] || echo "$what $name $(sed -n 's/^totals: *//p' "$work/out.$number")"
done < "$work/names" | awk '
    { gsub(/[0-9]+(x[0-9]+)*/, "", $2); sub(/_$/, "", $2); gsub(/__/, "_", $2); name = $1 ":" $2 }
    NF != 3 || $3 + 0 <= 0 {
        print "expected a count for " name ", found none" > "/dev/stderr"
        exit 1
    }
    !(name in sum) { order[++n] = name }
    { sum[name] += $3 }
    END { for (i = 1; i <= n; i++) print order[i], sum[order[i]] }' > "$work/counted"
[ -s "$work/counted" ] || { echo "expected counts, found none"; exit 1; }

if [ "$update" = --update ]; then
    awk -v column="$column" '
        function line(name, cell,    i, text) {
            text = sprintf("%-32s", name)
            for (i = 2; i <= columns; i++) text = text sprintf(" %12s", cell[i])
            print text
        }
        NR == FNR && /^#/ { print; next }
        NR == FNR && $1 == "kernels" {
            columns = NF
            for (i = 2; i <= NF; i++) cell[i] = $i
            line($1, cell)
            next
        }
        NR == FNR { for (i = 2; i <= NF; i++) old[$1, i] = $i; next }
        {
            for (i = 2; i <= columns; i++)
                cell[i] = i == column ? $2 : ($1, i) in old ? old[$1, i] : "-"
            line($1, cell)
        }
    ' "$table" "$work/counted" > "$work/new"
    cp "$work/new" "$table"
    exit
fi
awk -v column="$column" -v tolerance=$tolerance '
    /^#/ || $1 == "kernels" { next }
    NR == FNR { if ($column != "-") old[$1] = $column; next }
    {
        if (!($1 in old)) { print $1 ": is not in the table: --update"; wrong = 1; next }
        change = 100 * ($2 / old[$1] - 1)
        word = change > tolerance ? "rose" : change < -tolerance ? "fell: --update" : ""
        printf "%-32s %12d %12d %+7.2f %% %s\n", $1, old[$1], $2, change, word
        if (word != "") wrong = 1
        delete old[$1]
    }
    END {
        for (name in old) {
            print name ": is in the table, and was not counted: --update"
            wrong = 1
        }
        exit wrong
    }
' "$table" "$work/counted"
