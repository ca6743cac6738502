#!/bin/sh
# SPDX-License-Identifier: MIT
# An installation, as its users find it: installs into a DESTDIR, builds the example
# with two models through pkg-config and through CMake, and looks at what a compiled
# model exports, needs and holds.
#   sh tests/install/install.sh BUILD CMAKE
set -u
if [ -n "${STRATA_SANITIZE:-}" ]; then
    echo "skipped: what links a sanitized libstrata needs the sanitizers' flags, and its programs" \
        "their libraries"
    exit 77
fi
build=$(realpath "$1")
cmake=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$work" || exit 1
export LC_ALL=C
unset DESTDIR MAKEFLAGS
fail() { echo "failed: $*"; exit 1; }
run() { "$@" >log 2>&1 || { cat log; fail "$*"; }; }

# == Installing ================================================================
run env DESTDIR="$work/root" "$cmake" --install "$build"
prefix=$work/root$(sed -n 's/^CMAKE_INSTALL_PREFIX:[A-Z]*=//p' "$build/CMakeCache.txt")
strata=$prefix/bin/strata
[ -x "$strata" ] || fail "no program in $prefix/bin"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name strata.pc)")
export PKG_CONFIG_PATH
[ "$(realpath "$(pkg-config --variable=strata strata)")" = "$strata" ] ||
    fail "pkg-config names another strata"
for folder in "$source" "$build"; do
    if grep -rIl "$folder" "$prefix" >log; then cat log; fail "installed text names $folder"; fi
done

# Every option of --help has its place in the manual, and the other way round.
for command in build inspect compare import export tokens tokenizer weights; do
    "$strata" $command --help
done |
    grep -oE '^  -[A-Za-z-]+' | tr -d ' ' | sed 's/^-O0$/-O/' |
    grep -vxE -e '--help|--version' | sort >help.flags
# An option of several commands stands once, in a section that names them.
sed 's/\\-/-/g' "$(find "$prefix" -name strata.1)" | awk '
    /^\.SH/ {
        times = 0
        if (/OPTIONS/)
            times = gsub(/BUILD|INSPECT|COMPARE|IMPORT|EXPORT|TOKENS|TOKENIZER|WEIGHTS/, "&")
    }
    /^\.(BI?|BR) -[A-Za-z-]/ {
        sub(/[^A-Za-z-].*/, "", $2)
        for (i = 0; i < times; i++) print $2
    }' | grep -vx -- --help | sort >man.flags
diff help.flags man.flags || fail "strata --help and the manual page list other options"
for shell in bash zsh fish; do
    "$strata" completion $shell >completion.$shell || fail "completion $shell"
    grep -q -e __complete completion.$shell || fail "completion $shell does not ask the program"
    ! command -v $shell >/dev/null || run $shell -n completion.$shell
done
"$strata" __complete build --em | grep -q -e '^--emit' || fail "what is completed lacks --emit"

# What guides name is there.
docs=$(dirname "$(find "$prefix" -name CHANGELOG.md)")
for page in $(cd "$docs" && find . -name '*.md'); do
    grep -oE '\]\([^)#:]+\)' "$docs/$page" | sed 's/^](//; s/)$//' |
        while read -r file; do
            [ -e "$docs/$(dirname "$page")/$file" ] || { echo "$page names $file"; exit 1; }
        done || fail "a guide names what is not installed"
done
[ -e "$docs/specs/examples/two-models/Makefile" ] || fail "the example is not installed"
cmp "$source/LICENSE" "$docs/LICENSE" || fail "no licence in $docs"
[ -n "$(find "$prefix" -path '*man3/strata.h.3')" ] || fail "no manual page of strata.h"
# The shared library shows what the header declares.
sed -n 's/^[a-z].*[ *]\(strata_[a-z_]*\)(.*/\1/p' "$source/runtime/strata.h" | sort -u >declared
library=$(find "$prefix" -name 'libstrata.so')
nm -D --defined-only --format=posix "$library" | cut -d' ' -f1 | sort >shown
diff declared shown || fail "libstrata.so has other functions"
readelf -d "$library" | grep -q 'SONAME.*\[libstrata\.so\.[0-9]*\.[0-9]*\]' || fail "no SONAME"
readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vxE 'lib[cm]\.so\.6' >log &&
    fail "libstrata.so needs $(cat log)"

# == The example, twice ========================================================
cp -r "$docs/specs/examples/two-models" made
cp -r "$docs/specs/examples/two-models" cmade
cat "$source"/specs/library/*.lua "$source"/specs/library/*/*.lua | head -c 60000 >text
run make -C made CFLAGS='-O2 -Wall -Wextra -Werror' two-models writer
run "$cmake" -G 'Unix Makefiles' -S cmade -B cmade/build -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_FLAGS=-Werror
run "$cmake" --build cmade/build
made/two-models text learnt >made.out || fail "the example, made: $(cat made.out)"
cmade/build/two-models text >cmade.out || fail "the example, by CMake: $(cat cmade.out)"
cmp made.out cmade.out || fail "the two builds print different things"
awk '/^learner: step/ { gsub(",", ""); if (!first) first = $5; last = $5 }
     END { exit !(last < 0.8 * first) }' made.out ||
    fail "the learner did not learn: $(cat made.out)"
grep -q '^writer: The ' made.out || fail "the writer wrote nothing: $(cat made.out)"

# Weights travel between the example and standalone programs.
run "$strata" build made/learner.lua -o learner
run ./learner eval --weights learnt --data text --json
run made/writer train --data text --steps 20 --out writer.safetensors
made/two-models text learnt writer.safetensors >weights.out ||
    fail "the example with weights: $(cat weights.out)"
if cmp -s made.out weights.out; then fail "the writer's weights change nothing"; fi
if made/two-models text learnt learnt >out 2>err; then
    fail "the learner's weights were taken for the writer"
fi
grep -q 'expected the [0-9]* parameters of writer' err ||
    fail "no word about wrong weights: $(cat err)"

# == strata_add_model: built when, and only when, something changed =============
# consume GENERATOR: a C++ project, every change in it followed by a build
consume() {
    rm -rf project && cp -r "$source/tests/install/consumer" project
    object=project/build/echoing.model/echoing.o
    run "$cmake" -G "$1" -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror'
    rebuild() {
        sleep 1
        cp -p $object before.o
        run "$cmake" --build project/build
        project/build/consumer >"$1" || fail "the consumer: $(cat "$1")"
        project/build/loader project/build/echoed.model/libechoed.so >loaded ||
            fail "the loader: $(cat loaded)"
        [ "$(cat loaded)" = "echoing, 1 processors" ] || fail "loaded: $(cat loaded)"
    }
    run "$cmake" --build project/build
    rebuild first
    [ ! $object -nt before.o ] || fail "$generator: the model was built again for nothing"
    sed -i 's/share = 0.5/share = 0.25/' 'project/own models/half.lua'
    rebuild second
    if cmp -s first second; then
        fail "$generator: a required file changed, and the model did not"
    fi
    touch 'project/own models/echoing.lua'
    rebuild third
    [ $object -nt before.o ] || fail "$generator: the spec changed, and the model was not built"
    sed -i 's/layers = {/layers = { 7,/' 'project/own models/echoing.lua'
    if "$cmake" --build project/build >log 2>&1; then fail "$generator: a wrong spec was built"; fi
    grep -q 'error: .*own models/echoing.lua:[0-9]*: .*expected layer' log ||
        { cat log; fail "$generator: no word about a wrong spec"; }
}
command -v ninja >log && ninja=Ninja || ninja=
for generator in 'Unix Makefiles' $ninja; do consume "$generator"; done
printf '%s\n' 'find_package(Strata 0.1 REQUIRED)' 'strata_add_model(none none.lua)' \
    >>project/CMakeLists.txt
if "$cmake" -S project -B project/build >log 2>&1; then
    fail "a spec that is not there was configured"
fi
grep -q 'found no file .*none.lua' log ||
    { cat log; fail "no word about a spec that is not there"; }

# == An object that calls OpenBLAS, where there is one =========================
mkdir multiplied
cat >multiplied/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(multiplied LANGUAGES C)
find_package(strata 0.1 REQUIRED)
strata_add_model(learner ../made/learner.lua BLAS openblas)
add_executable(user user.c)
target_link_libraries(user PRIVATE learner m)
END
cat >multiplied/user.c <<'END'
#include "learner.h"
#include <stdlib.h>
int main(void) {
    strata_setup s = { .struct_size = sizeof s, .workers = 1 };
    void *ctx = aligned_alloc(64, (LEARNER_CTX_BYTES + 63) / 64 * 64);
    return !LEARNER_BLAS || learner_init(ctx, LEARNER_CTX_BYTES, &s);
}
END
if "$strata" doctor | grep -q '^openblas .* kernels'; then
    run "$cmake" -S multiplied -B multiplied/build -DCMAKE_PREFIX_PATH="$prefix"
    run "$cmake" --build multiplied/build
    run multiplied/build/user
    run "$strata" build made/learner.lua --emit obj --blas openblas -o multiplied/learner.o
    # shellcheck disable=SC2046
    run ${CC:-cc} -std=c11 multiplied/user.c multiplied/learner.o -o multiplied/user \
        $(pkg-config --cflags --libs strata openblas)
    run multiplied/user
fi

# == What an object is =========================================================
for model in learner writer; do
    object=made/$model.o
    nm --undefined-only --format=posix $object | cut -d' ' -f1 |
        grep -vxE 'memcpy|memmove|memset' >log && fail "$object needs $(tr '\n' ' ' <log)"
    nm --extern-only --defined-only --format=posix $object | cut -d' ' -f1 |
        grep -v "^${model}_" >log && fail "$object exports $(tr '\n' ' ' <log)"
    # name, size and flags of sections: nothing writable, no constructors, no executable stack
    readelf -SW $object | sed -n 's/^ *\[ *[0-9]*\] *//p' |
        awk '$1 ~ /^\.(init_array|fini_array|preinit_array|ctors|dtors)/ ||
             ($7 ~ /W/ && $5 !~ /^0+$/) { print $1, $5 }' >log
    [ ! -s log ] || fail "$object holds writable data or constructors: $(cat log)"
    readelf -SW $object | grep -q 'note.GNU-stack' || fail "$object asks for an executable stack"
done
readelf -d learner | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux-x86-64\.so\.2' >log &&
    fail "a program needs $(cat log)"
run "$strata" build made/learner.lua --emit shared -o learner.so
run "$strata" build made/learner.lua --emit static -o learner.a
nm -D --undefined-only --format=posix learner.so | cut -d' ' -f1 |
    grep -vxE 'memcpy|memmove|memset' >log && fail "learner.so needs $(cat log)"
cmp learner.h made/learner.h || fail "the headers of static and obj differ"

# == The headers, in C and C++, in any order ===================================
cat >one.c <<'END'
#include "learner.h"
#include "writer.h"
#include "strata.h"
int main(void) {
    strata_api a = learner_api(), b = writer_api();
    return a.model() == b.model();
}
END
cat >two.c <<'END'
#include "strata.h"
#include "writer.h"
#include "learner.h"
#include "writer.h"
int main(void) { return (int)(LEARNER_VOCAB - WRITER_VOCAB); }
END
flags="-Wall -Wextra -Werror -pedantic -Imade $(pkg-config --cflags strata)"
for file in one two; do
    for standard in c99 c11 c17; do run ${CC:-cc} -std=$standard $flags -c $file.c -o $file.o; done
    for standard in c++11 c++17 c++20; do
        run ${CXX:-c++} -x c++ -std=$standard $flags -c $file.c -o $file.o
    done
done
run ${CXX:-c++} -x c++ -std=c++11 $flags one.c -x none made/learner.o made/writer.o -o one
if ./one; then :; else fail "the two models' descriptors are the same"; fi

# == Removing ==================================================================
touch "$docs/of-somebody-else"
run env DESTDIR="$work/root" "$cmake" -DBUILD="$build" -P "$source/cmake/uninstall.cmake"
[ "$(find "$prefix" ! -type d)" = "$docs/of-somebody-else" ] ||
    fail "uninstall left $(find "$prefix" ! -type d)"
[ -z "$(find "$prefix" -type d -name strata ! -path "$docs")" ] ||
    fail "uninstall left $(find "$prefix" -type d -name strata)"
echo "installed, built twice, and as the interface says"
