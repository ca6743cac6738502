# SPDX-License-Identifier: MIT
# What a Debian 12 needs, or a newer one, to build Strata; read by tests/run.sh and specs/demo.sh.
#   setup_packages PACKAGE ...     installs what is missing (root or sudo), or says how and exits
#   setup_llvm                     sets LLVM to the newest of 22 to 19 that is installed, else to
#                                  the newest that the archive has
#   setup_build FOLDER LLVM [-DOPTION=VALUE ...] [TARGET ...]
#                                  configures and builds; words only if it fails

BUILD_PACKAGES="cmake ninja-build gcc libc6-dev pkg-config"
BUILD_PACKAGES="$BUILD_PACKAGES liblua5.4-dev libcmocka-dev libutf8proc-dev libpcre2-dev"
BUILD_PACKAGES="$BUILD_PACKAGES zlib1g-dev libzstd-dev"
# what programs with --blas openblas are linked with; the serial build is not one for threads
BUILD_PACKAGES="$BUILD_PACKAGES libopenblas-pthread-dev"

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Without dpkg there is nothing to ask: CMake says what it lacks.
has_dpkg() { command -v dpkg-query >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; }

# $root: what runs a command as root; "none" if nothing does.
find_root() {
    if [ "$(id -u)" = 0 ]; then
        root=
    elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        root=sudo
    else
        root=none
    fi
}

setup_packages() {
    has_dpkg || return 0
    missing=
    for package in "$@"; do is_installed "$package" || missing="$missing $package"; done
    [ -n "$missing" ] || return 0
    find_root
    if [ "$root" = none ]; then
        echo "Packages are missing. As root, run:"
        echo "  apt-get update && apt-get install --no-install-recommends$missing"
        exit 1
    fi
    echo "Installing:$missing"
    log=$(mktemp)
    install="env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends"
    # shellcheck disable=SC2086
    if { $root apt-get update && $root $install $missing; } >"$log" 2>&1; then
        rm -f "$log"
    else
        tail -n 20 "$log"
        rm -f "$log"
        echo "apt-get could not install:$missing"
        exit 1
    fi
}

has_llvm() { is_installed "llvm-$1-dev" && is_installed "clang-$1"; }
offers_llvm() { apt-cache show "llvm-$1-dev" "clang-$1" >/dev/null 2>&1; }

setup_llvm() {
    LLVM=22
    has_dpkg || return 0
    for LLVM in 22 21 20 19; do
        if has_llvm $LLVM; then return 0; fi
    done
    LLVM=22
    if ! offers_llvm 22; then       # perhaps the lists of packages are old, or not there
        find_root
        [ "$root" = none ] || $root apt-get update >/dev/null 2>&1 || true
    fi
    for LLVM in 22 21 20 19; do
        if offers_llvm $LLVM; then return 0; fi
    done
    LLVM=22
}

setup_build() {
    where=$1 llvm=$2
    shift 2
    options=
    targets=
    for word in "$@"; do
        case $word in
        -D*) options="$options $word" ;;
        *) targets="$targets --target $word" ;;
        esac
    done
    log=$where.log
    # shellcheck disable=SC2086
    if cmake -S "$top" -B "$where" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTRATA_LLVM="$llvm" \
        $options >"$log" 2>&1 &&
        cmake --build "$where" -j 2 $targets >>"$log" 2>&1; then
        rm -f "$log"
    else
        grep -nE 'FAILED|error|Error|warning' "$log" | head -n 40
        tail -n 20 "$log"
        echo "The build failed; all of its words are in $log"
        exit 1
    fi
}
