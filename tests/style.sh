#!/bin/sh
# The code is as .clang-format writes it and at most 100 columns wide; rows of tables between
# "clang-format off" and "on", and those of .def files, may be wider:
#   sh tests/style.sh
# 77, "skipped": there is no clang-format 22 (other versions write other things).
set -eu
cd "$(dirname "$0")/.."
files=$(find compiler runtime tests specs -name '*.[ch]')
wide=$(printf '%s\n' "$files" | xargs awk '
    /clang-format off/ { off = 1 }
    /clang-format on/ { off = 0 }
    !off && length($0) > 100 { print FILENAME ":" FNR ": expected at most 100 columns, found " length($0) }')
[ -z "$wide" ] || { printf '%s\n' "$wide"; exit 1; }
format=$(command -v clang-format-22 || command -v clang-format || true)
case $([ -z "$format" ] || "$format" --version) in
*"version 22."*) ;;
*) echo "skipped: clang-format 22 is not installed"; exit 77 ;;
esac
printf '%s\n' "$files" | xargs "$format" --dry-run -Werror || {
    echo "style.sh: expected what clang-format writes; $format -i FILE does"
    exit 1
}
echo "style: $(printf '%s\n' "$files" | wc -l) files"
