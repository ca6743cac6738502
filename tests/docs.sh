#!/bin/sh
# SPDX-License-Identifier: MIT
# README and docs/: the picture is what this compiler draws, files that are named exist, commands
# are those that --help lists.  sh tests/docs.sh STRATA
set -eu
strata=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "docs.sh: $1"; exit 1; }

spec=specs/papers/haares/haares-small-12.lua
"$strata" inspect $spec --cpu x86-64-v3 --matrix -o "$work/picture.svg"
cmp -s "$work/picture.svg" docs/depth-mixing.svg ||
    fail "expected docs/depth-mixing.svg to be current; strata inspect $spec --matrix -o draws it"

for page in README.md docs/*.md; do
    folder=$(dirname "$page")
    grep -oE '\]\([^)#:]+\)' "$page" | sed 's/^](//; s/)$//' | while read -r file; do
        [ -e "$folder/$file" ] || { echo "docs.sh: $page names $file, which is not there"; exit 1; }
    done
done
# Files that documents name, by whole or shorter paths, exist; MODEL_TYPE.lua stands for any.
find . \( -name .git -o -name 'build*' \) -prune -o -type f -print >"$work/files"
for page in README.md docs/*.md specs/library/*.md python/README.md; do
    grep -ohE '`[a-z0-9_./-]+/[a-z0-9_-]+\.[a-z]+`|`[a-z0-9_-]+\.(c|h|def)`' "$page" | tr -d '`' |
        grep -E '\.(c|h|def|lua|sh|py|txt|cmake)$' | sort -u >"$work/named" || true
    while read -r file; do
        grep -qE "/$(echo "$file" | sed 's/[.]/[.]/g')\$" "$work/files" ||
            fail "$page names $file, which is not there"
    done <"$work/named"
done
# the table of what to edit: every path in it, folders end in /
grep -oE '`[a-z_]+/[a-zA-Z0-9_./*-]+`' docs/changing.md |
    tr -d '`' | sort -u >"$work/paths"
[ -s "$work/paths" ] || fail "expected paths in docs/changing.md, found none"
while read -r path; do
    # shellcheck disable=SC2086
    ls -d $path >/dev/null 2>&1 || fail "docs/changing.md names $path, which is not there"
done <"$work/paths"

"$strata" inspect specs/demo.lua --cpu x86-64-v3 >"$work/demo"
per_token=$(sed -n 's/^ *per token *\([0-9.]* KiB\).*/\1/p' "$work/demo")
grep -q "activations $per_token per token" README.md ||
    fail "expected README to say activations $per_token per token, as inspect does"

# Options that need another one, and those that another one's value leaves without effect: rows of
# the two tables, in the section of the page of commands that is about them.
sed -n '/^## Options that need another one/,/^## Tok/p' docs/commands.md >"$work/needs"
for table in compiler/commands/strata_options.def runtime/commands/program_options.def; do
    awk -F'[(,]' '
        function word(text) { gsub(/[" ]/, "", text); return text }
        /^OPTION\(/ { name[word($2)] = word($3) }
        /^(NEED|IDLE)\(/ { at = name[word($2)]; print (length(at) > 1 ? "--" : "-") at }
    ' "$table"
done | sort -u >"$work/options"
[ "$(wc -l <"$work/options")" -gt 20 ] || fail "expected more than 20 options that need others"
while read -r option; do
    grep -q -e "\`$option[ \`]" "$work/needs" ||
        fail "expected docs/commands.md to say what $option needs, or what leaves it without effect"
done <"$work/options"

version=$("$strata" --version | sed 's/^strata //')
grep -q "^## $version" CHANGELOG.md || fail "expected a section $version in CHANGELOG.md"
grep -q '^MIT License' LICENSE || fail "expected the MIT licence in LICENSE, found another text"

"$strata" --help | awk '/^  [a-z]+ / { print $1 }' | sort -u >"$work/commands"
grep -oE '^    strata [a-z]+' README.md | awk '{ print $2 }' | sort -u >"$work/named"
unknown=$(comm -13 "$work/commands" "$work/named" | tr '\n' ' ')
[ -z "$unknown" ] || fail "README has commands that --help has not: $unknown"
# Words, other than code and what programs print.
words=$(awk '
    /^```/ { code = !code }
    code || /^    / { next }
    { gsub(/[|]/, " "); print }' README.md | wc -w)
[ "$words" -le 700 ] ||
    fail "expected README to have at most 700 words, found $words; docs/ has room"
echo "docs: picture current, $(wc -l <"$work/paths") paths, $words words"
