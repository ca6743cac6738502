#!/bin/sh
# SPDX-License-Identifier: MIT
# libFuzzer on every reader of files and on the compiler's front end, below the address and the
# undefined-behaviour sanitizers: ten minutes each, or SECONDS.
#   sh tests/fuzz/fuzz.sh [SECONDS [NAME ...]]      NAME: safetensors, spec, ...
# BUILD names the build folder (build-fuzz), FUZZ_RESOURCES a folder of clang's own files where
# libFuzzer is not with clang.  A finding stays in BUILD/NAME.found; the last line says how many
# inputs were read.  77, "skipped": this clang has no libFuzzer.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
. cmake/setup.sh
seconds=${1:-600}
[ $# = 0 ] || shift
folder=${BUILD:-build-fuzz}
setup_llvm
flags=${FUZZ_RESOURCES:+-resource-dir $FUZZ_RESOURCES}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
echo 'int LLVMFuzzerTestOneInput(const char *x, unsigned long n) { return !x && n; }' \
    >"$work/a.c"
# shellcheck disable=SC2086
if ! "clang-$LLVM" $flags -fsanitize=fuzzer,address,undefined "$work/a.c" -o "$work/a" \
    >"$work/log" 2>&1; then
    echo "skipped: clang-$LLVM has no libFuzzer; Debian's package is libclang-rt-$LLVM-dev"
    exit 77
fi
names=${*:-$(cd tests/fuzz && ls ./*_fuzz.c | sed 's,^\./,,; s,_fuzz\.c$,,')}
targets=
for name in $names; do targets="$targets ${name}_fuzz"; done
# shellcheck disable=SC2086
CC="clang-$LLVM" CFLAGS="$flags" LDFLAGS="$flags" \
    setup_build "$folder" "$LLVM" -DSTRATA_FUZZ=ON $targets || exit 1

failed=0 all=0
for name in $names; do
    corpus=$folder/$name.corpus
    mkdir -p "$corpus"
    FUZZ_SEEDS=$corpus ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 \
        "$folder/tests/${name}_fuzz" -max_total_time="$seconds" -max_len=20000 -timeout=60 \
        -rss_limit_mb=3000 -print_final_stats=1 -artifact_prefix="$folder/$name.found-" \
        "$corpus" >"$folder/$name.log" 2>&1
    status=$?
    count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log")
    echo "$name: ${count:-0} inputs, $(find "$corpus" -type f | wc -l) kept"
    all=$((all + ${count:-0}))
    [ $status = 0 ] && continue
    failed=1
    grep -m 3 -E '^broken|ERROR|SUMMARY|runtime error' "$folder/$name.log"
done
echo "$all inputs"
exit $failed
