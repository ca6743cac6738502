#!/bin/sh
# SPDX-License-Identifier: MIT
# Symbols that an archive defines and that do not begin with strata_ are called strata__NAME, in all
# of its objects; no prefix of a model begins so (compiler/commands/prefix.c):
#   sh runtime/rename.sh NM OBJCOPY ARCHIVE
set -eu
nm=$1 objcopy=$2 archive=$3
"$nm" -gP --defined-only "$archive" |
    awk 'NF > 1 && $1 !~ /^strata_/ { print $1, "strata__" $1 }' | sort -u >"$archive.names"
"$objcopy" --redefine-syms="$archive.names" "$archive"
rm "$archive.names"
