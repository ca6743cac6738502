#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian package: cpack makes it, lintian accepts it, and, unpacked, it compiles a spec.
#   sh tests/package.sh BUILD CPACK
# 77, "skipped": there is no dpkg-deb, dpkg-shlibdeps or lintian; or libstrata needs the sanitizers.
set -eu
build=$(realpath "$1") cpack=$2
[ -z "${STRATA_SANITIZE:-}" ] || { echo "skipped: no packages of sanitized builds"; exit 77; }
for program in dpkg-deb dpkg-shlibdeps lintian; do
    command -v $program >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
umask 077       # what the package holds does not depend on it
fail() { echo "package.sh: $*"; exit 1; }
(cd "$build" && "$cpack" -G DEB -B "$work/made") >log 2>&1 || { cat log; fail "cpack"; }
package=$(find made -maxdepth 1 -name 'strata_*_amd64.deb')
[ -n "$package" ] || fail "no package: $(find made)"
chmod 755 . made
lintian --allow-root --no-cfg --fail-on error,warning "$package" >log 2>&1 ||
    { cat log; fail "lintian does not accept the package"; }
depends=$(dpkg-deb -f "$package" Depends)
for one in libllvm liblua5.4-0 libc6-dev binutils gcc; do
    case $depends in *$one*) ;; *) fail "it does not depend on $one: $depends" ;; esac
done
dpkg-deb -x "$package" root
[ "$(find root -perm /022 ! -type l)" = "" ] || fail "others may write to what it holds"
for script in bash-completion/completions/strata zsh/vendor-completions/_strata \
    fish/vendor_completions.d/strata.fish; do
    [ -s "root/usr/share/$script" ] || fail "no completion script $script"
done
printf '%s\n' 'return model { name = "tiny", vocab = 9, context = 8, dim = 8, norm = rmsnorm {},' \
    '  layers = times(1, layer { mlp { hidden = 8 } }) }' >tiny.lua
root/usr/bin/strata build tiny.lua || fail "strata of the package"
./tiny info >info
grep -q '^model  *tiny' info || fail "its program: $(cat info)"
root/usr/bin/strata build tiny.lua --emit shared -o tiny.so || fail "shared libraries"
# Python as the package has it, if this one has numpy
python=python3
$python -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
modules=$PWD/root/usr/lib/python3/dist-packages
[ -f "$modules/strata/abi.h" ] || fail "no Python package in it: $(ls "$modules")"
if $python -c 'import numpy' 2>/dev/null; then
    PYTHONPATH=$modules PYTHONDONTWRITEBYTECODE=1 STRATA=$PWD/root/usr/bin/strata $python -c '
import importlib.metadata, numpy, strata
model = strata.build("tiny.lua")
model.init(seed=1)
assert model.logits(numpy.zeros((1, 4), numpy.int32)).shape == (1, 4, 9)
print("python", importlib.metadata.version("strata"))' >out || fail "its Python package"
    [ "$(cat out)" = "python $(root/usr/bin/strata --version | cut -d" " -f2)" ] ||
        fail "its Python package is of another version: $(cat out)"
fi
gzip -dc root/usr/share/man/man3/strata.h.3.gz | grep -q 'TH STRATA' || fail "the manual"
echo "package: $(basename "$package"), $(stat -c %s "$package") bytes"
