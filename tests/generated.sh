#!/bin/sh
# SPDX-License-Identifier: MIT
# generated/ is what this compiler makes of specs/, and small:  sh tests/generated.sh STRATA
set -eu
strata=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh generated/update.sh "$strata" "$work"
cp generated/update.sh "$work"
if ! diff -rq generated "$work"; then
    diff -r generated "$work" | head -n 20
    echo "generated.sh: expected generated/ to be current; sh generated/update.sh STRATA renews it"
    echo "hashes.txt: ALL=1 sh generated/update.sh STRATA FOLDER, with this compiler and the one" \
        "before, writes what to compare"
    exit 1
fi
bytes=$(find generated -type f -exec cat {} + | wc -c)
[ "$bytes" -le 1048576 ] || {
    echo "generated.sh: expected at most 1 MiB, found $bytes bytes"
    exit 1
}
echo "generated: current, $bytes bytes"
