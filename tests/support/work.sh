# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Read by tests, whose first word is STRATA: a folder for their files and their cache, which goes
# with them, and in which they are.
strata=$(realpath "$1")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
export LC_ALL=C XDG_CACHE_HOME="$work/cache"
