#!/bin/sh
# SPDX-License-Identifier: MIT
# Functions, files and other names that comments of C name exist: comments.awk says what a name is.
#   sh tests/comments.sh
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find . \( -name .git -o -name 'build*' -o -name .venv \) -prune -o -type f -print |
    sed 's,^\./,,' | sort >"$work/paths"
grep -E '\.([ch]|def|cpp|inc|lua|sh|py|awk|in|cmake|toml|map)$|CMakeLists\.txt$|Makefile$' \
    "$work/paths" | grep -vE ' |^tests/comments\.sh$' >"$work/words"
grep -E '^(compiler|runtime|tests|specs)/.*\.([ch]|def)$' "$work/paths" >"$work/look"
# look FILE...: names in comments of these that are not there
look() {
    # shellcheck disable=SC2046
    awk -f tests/comments.awk kind=path "$work/paths" kind=words $(cat "$work/words") kind=look "$@"
}

# It finds what is not there, and nothing else.
cat >"$work/sample.c" <<'END'
/* without_function_1 is called, call_without_2() too: no_such_file_3.c */
int x; // and NAME_without_4 of tests/no_such_5.sh, without_any_6 of "without_quotes"
char c = '"'; /* without_any_7
** and without_any_8 */ const char *s = "/* without_any_string */";
/* text_add, error_set(e), comments.awk, compiler/passes/slots.c, h_i, exp(x), NAME_update, f(x),
** P_update, tokenizer_NAME.c, error_.. are there */
END
look "$work/sample.c" | grep -o '[0-9]*[^0-9]*$' | tr -dc '0-9\n' | tr '\n' ' ' >"$work/found"
[ "$(cat "$work/found")" = "1 2 3 4 5 6 7 8 " ] || {
    echo "comments.sh: expected 8 names that are not there, found $(cat "$work/found")"
    look "$work/sample.c"
    exit 1
}
# shellcheck disable=SC2046
look $(cat "$work/look") >"$work/wrong"
[ ! -s "$work/wrong" ] || {
    sed 's/$/, which is not there: expected names that are, or words/' "$work/wrong"
    exit 1
}
echo "comments: those of $(wc -l <"$work/look") files name what is there"
