# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Read by tests, whose first word is STRATA: a folder for their files, their cache and what commands
# put into TMPDIR; it is the current folder, and it goes when the test ends.
strata=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
mkdir tmp || exit 1
export LC_ALL=C TMPDIR="$work/tmp" XDG_CACHE_HOME="$work/cache"
