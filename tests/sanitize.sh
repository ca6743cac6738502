#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test below a checker, which finds what a test cannot see.
#   sh tests/sanitize.sh [CTEST-ARGUMENT ...]
#       address, leak and undefined-behaviour sanitizers
#   sh tests/sanitize.sh valgrind [CTEST-ARGUMENT ...]
#       valgrind: what is read before it has a value, and what compiled models and libraries do,
#       which are not sanitized
#   sh tests/sanitize.sh specs [COUNT [SEED]]
#       the compiler alone, below the first of these, with hostile and random specs (5000)
# BUILD names the build folder (build-asan, build-valgrind).  The last line is ctest's summary.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
. cmake/setup.sh

tool=asan
if [ "${1:-}" = valgrind ]; then
    tool=valgrind
    shift
fi
specs=
if [ "${1:-}" = specs ]; then
    specs="${2:-5000} ${3:-1}"
fi
folder=${BUILD:-build-$tool}
setup_llvm
# shellcheck disable=SC2086
setup_packages $BUILD_PACKAGES "llvm-$LLVM-dev" "clang-$LLVM" g++ make binutils util-linux
[ $tool = asan ] || setup_packages valgrind libc6-dbg

# Programs of tests start below valgrind as another processor's would below its emulator.
# A finding, in a forked child too, ends its process with status 9.  fair-sched lets threads
# that wait for each other, spinning, take turns.
check="valgrind;-q;--error-exitcode=9;--leak-check=full;--show-leak-kinds=definite"
check="$check;--errors-for-leak-kinds=definite;--fair-sched=yes"

if [ -n "$specs" ]; then
    setup_build "$folder" "$LLVM" -DSTRATA_SANITIZE=ON spec_campaign || exit 1
    export ASAN_OPTIONS=exitcode=99:detect_leaks=1:detect_stack_use_after_return=1
    # shellcheck disable=SC2086
    exec "$folder/tests/spec_campaign" hostile $specs
fi
if [ $tool = asan ]; then
    echo "Building with sanitizers in $folder"
    setup_build "$folder" "$LLVM" -DSTRATA_SANITIZE=ON
else
    echo "Building for valgrind in $folder"
    setup_build "$folder" "$LLVM" "-DCMAKE_CROSSCOMPILING_EMULATOR=$check"
    # It makes LLVM 50 times slower: fewer models, and none optimised.
    export STRATA_TEST_LEVEL=0 STRATA_TEST_EVERY=7 STRATA_FUZZ_COUNT=3 FUZZ_SECONDS=60
    # Left out: scripts, training_test and generation_test, which start programs by themselves;
    # allocations_test, whose malloc is its own; check_test, check_bits_test and code_size_test,
    # hours of compiling what others compile too, to see which mistakes are found and how large code
    # is; the AVX2 sets of three, because to valgrind (3.19) a number "unordered or equal" to NaN is
    # not, nor log(NaN) NaN.
    left_out='^(training|generation|allocations|check|check_bits|code_size)_test$'
    set -- -LE script -E "$left_out|^(kernels|vector|vmath)_test_avx2" "$@"
fi
ctest --test-dir "$folder" -j 2 --timeout 7200 --output-on-failure "$@" 2>&1 |
    tee "$folder/tests.log"
if ! grep -q 'tests passed, 0 tests failed' "$folder/tests.log"; then failed=1; fi
grep 'tests passed' "$folder/tests.log" | tail -n 1
exit "${failed:-0}"
