#!/bin/sh
# SPDX-License-Identifier: MIT
# Documents are easy to read in a terminal: a paragraph follows the title, lines have at most 100
# columns, code included, and cells of tables 120 characters.  A line of one word, such as an
# address, may be longer.  Links to headings name headings that exist.
#   sh tests/widths.sh
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "widths.sh: $*" >&2; exit 1; }

# check FILE...: what is wrong with documents, one line each
check() {
    awk '
    function complain(what) { print FILENAME ":" FNR ": expected " what }
    function cells(    i, n, cell, text) {
        text = $0
        gsub(/\\[|]/, "  ", text)
        n = split(text, cell, "|")
        for (i = 1; i <= n; i++) {
            gsub(/^ +| +$/, "", cell[i])
            if (length(cell[i]) > 120)
                complain("at most 120 characters in a cell, found " length(cell[i]))
        }
    }
    function finish() { if (file && !opened) print file ": expected a title and a paragraph" }
    FNR == 1 { finish(); file = FILENAME; titled = opened = code = 0 }
    /^ *```/ { code = !code }
    !code && /^ *[|]/ { cells(); next }
    length($0) > 100 && NF > 1 { complain("at most 100 columns, found " length($0)) }
    !titled { titled = /^# /; next }
    !opened && NF {
        opened = 1
        if (!/^[A-Z`]/) complain("a paragraph after the title, found " $1)
    }
    END { finish() }' "$@"
}

# headings FILE: the names by which links reach them
headings() {
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# It finds what it looks for.
printf '# A\n\n| a | b |\n' >"$work/table.md"
printf '# A\n\nA %0100d\n' 0 >"$work/line.md"
printf '# A\n\nB\n\n| %0121d |\n' 0 >"$work/cell.md"
printf '# A\n\n## B\n' >"$work/heading.md"
printf '# A\n' >"$work/title.md"
for kind in line cell heading title; do
    [ -n "$(check "$work/$kind.md")" ] || fail "expected a complaint about $kind.md, found none"
done
printf '# A\n\nB %098d\n\n| %0120d |\n\n%0200d\n' 0 0 0 >"$work/right.md"
check "$work/right.md" | grep . && fail "expected no complaint about right.md"

git ls-files '*.md' 2>/dev/null >"$work/documents" ||
    find . -name '*.md' ! -path './build*' ! -path './.git/*' |
    sed 's,^\./,,' >"$work/documents"
documents=$(cat "$work/documents")
[ "$(echo "$documents" | wc -l)" -gt 20 ] || fail "expected more than 20 documents"
# shellcheck disable=SC2086
check $documents >"$work/wrong"
for page in $documents; do
    grep -oE '\]\([^):]*#[^)]+\)' "$page" | sed 's/^](//; s/)$//' |
        while IFS='#' read -r to name; do
            other=$page
            [ -z "$to" ] || other=$(dirname "$page")/$to
            headings "$other" | grep -qxF -e "$name" ||
                echo "$page: expected a heading of the name of $to#$name" >>"$work/wrong"
        done
done
[ ! -s "$work/wrong" ] || { cat "$work/wrong"; exit 1; }
echo "widths: $(echo "$documents" | wc -l) documents"
