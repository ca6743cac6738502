#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, runs every test; the last line is ctest's summary.
#   sh tests/run.sh               everything, with LLVM 22, and what depends on LLVM with 19 too
#   sh tests/run.sh -R NAME ...   arguments go to ctest; LLVM 19 is left out
# BUILD names the build folder (build).
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top" || exit 1
. cmake/setup.sh
folder=${BUILD:-build}

setup_llvm
# clang-format: style; g++: headers are compiled as C++; lua-check: what strata init writes;
# valgrind: counts; zsh, fish: their completion scripts; the rest: scripts of tests/
# shellcheck disable=SC2086
setup_packages $BUILD_PACKAGES "llvm-$LLVM-dev" "clang-$LLVM" g++ make binutils util-linux \
    lua-check valgrind zsh fish
# Only version 22 formats as the code is; an archive without it leaves the check out.
if has_dpkg && apt-cache show clang-format-22 >/dev/null 2>&1; then
    setup_packages clang-format-22
fi

# What depends on LLVM: kernels, and all that compiles a spec.
older() {
    if [ "$LLVM" = 19 ] || ! has_dpkg; then return 0; fi
    if ! has_llvm 19 && ! offers_llvm 19; then
        echo "LLVM 19: not in this system's archive; left out"
        return 0
    fi
    setup_packages llvm-19-dev clang-19
    echo "Building with LLVM 19 in $folder-19"
    setup_build "$folder-19" 19
    ctest --test-dir "$folder-19" -j 2 --output-on-failure -E '_fuzz$' -LE script \
        >"$folder-19/tests.log" 2>&1
    status=$?
    [ $status = 0 ] || cat "$folder-19/tests.log"
    grep 'tests passed' "$folder-19/tests.log" | sed 's/^/LLVM 19: /'
    return $status
}

failed=0
if [ $# = 0 ]; then older || failed=1; fi
echo "Building with LLVM $LLVM in $folder"
setup_build "$folder" "$LLVM"
[ -d "$top/../shared/golden" ] || echo "Note: ../shared/golden is not there; its cases are skipped"
ctest --test-dir "$folder" -j 2 --output-on-failure "$@" 2>&1 | tee "$folder/tests.log"
if ! grep -q 'tests passed, 0 tests failed' "$folder/tests.log"; then failed=1; fi
grep 'tests passed' "$folder/tests.log" | tail -n 1
exit $failed
