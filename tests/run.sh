#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, runs the tests; the last line is ctest's summary.
#   sh tests/run.sh               with the newest LLVM at hand, 22 to 19: some 15 minutes
#   sh tests/run.sh --all         also what takes longer, and what LLVM compiles with LLVM 19 too
#   sh tests/run.sh -R NAME ...   arguments go to ctest
# BUILD names the build folder (build).
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
. cmake/setup.sh
folder=${BUILD:-build}

setup_llvm
# clang-format: style; g++: headers are compiled as C++; lua-check: what strata init writes;
# valgrind: counts; zsh, fish: their completion scripts; python3-...: the Python package; mandoc:
# manual pages; lintian, dpkg-dev: the package; the rest: scripts of tests/
# shellcheck disable=SC2086
setup_packages $BUILD_PACKAGES "llvm-$LLVM-dev" "clang-$LLVM" g++ make binutils util-linux \
    lua-check valgrind zsh fish mandoc lintian dpkg-dev \
    python3-numpy python3-pytest python3-venv python3-hatchling
# Only version 22 formats as the code is; an archive without it leaves the check out.
if has_dpkg && apt-cache show clang-format-22 >/dev/null 2>&1; then
    setup_packages clang-format-22
fi

all=false leave_out=
if [ "${1:-}" = --all ]; then
    all=true
    shift
    # libFuzzer
    if has_dpkg && apt-cache show "libclang-rt-$LLVM-dev" >/dev/null 2>&1; then
        setup_packages "libclang-rt-$LLVM-dev"
    fi
elif [ $# = 0 ]; then
    leave_out="-LE long"
fi

# With the oldest LLVM that Strata supports, the tests of what LLVM compiles.
older() {
    if [ "$LLVM" = 19 ] || ! has_dpkg; then return 0; fi
    if ! has_llvm 19 && ! offers_llvm 19; then
        echo "LLVM 19: not in this system's archive; left out"
        return 0
    fi
    setup_packages llvm-19-dev clang-19
    echo "Building with LLVM 19 in $folder-19"
    setup_build "$folder-19" 19 strata strata_runtime llvm_tests
    ctest --test-dir "$folder-19" -j 2 --output-on-failure -L '^(codegen|report|whole)$' \
        >"$folder-19/tests.log" 2>&1
    status=$?
    [ $status = 0 ] || cat "$folder-19/tests.log"
    grep 'tests passed' "$folder-19/tests.log" | sed 's/^/LLVM 19: /'
    return $status
}

failed=0
if $all; then older || failed=1; fi
echo "Building with LLVM $LLVM in $folder"
setup_build "$folder" "$LLVM"
[ -d "$top/../shared/golden" ] || echo "Note: ../shared/golden is not there; its cases are skipped"
# shellcheck disable=SC2086
ctest --test-dir "$folder" -j 2 --output-on-failure $leave_out "$@" 2>&1 | tee "$folder/tests.log"
if ! grep -q 'tests passed, 0 tests failed' "$folder/tests.log"; then failed=1; fi
grep 'tests passed' "$folder/tests.log" | tail -n 1
exit $failed
