#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages are as mandoc would have them, and name the version:  sh tests/man.sh BUILD STRATA
# 77, "skipped": there is no mandoc.
set -eu
build=$1 version=$("$2" --version)
command -v mandoc >/dev/null || { echo "skipped: mandoc is not installed"; exit 77; }
pages=$(find "$build" -maxdepth 1 -name '*.[1-8]')
for page in $pages; do
    mandoc -Tlint "$page" || exit 1
    grep -q "^\.TH .*\"$version\"" "$page" || { echo "$page: expected $version in .TH"; exit 1; }
done
echo "man: $(echo "$pages" | wc -l) pages"
[ "$(echo "$pages" | wc -l)" -ge 2 ]
