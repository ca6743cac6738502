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
printf '%s\n' 'return model { name = "tiny", vocab = 9, context = 8, dim = 8, norm = rmsnorm {},' \
    '  layers = times(1, layer { mlp { hidden = 8 } }) }' >tiny.lua
root/usr/bin/strata build tiny.lua || fail "strata of the package"
./tiny info >info
grep -q '^model  *tiny' info || fail "its program: $(cat info)"
root/usr/bin/strata build tiny.lua --emit shared -o tiny.so || fail "shared libraries"
gzip -dc root/usr/share/man/man3/strata.h.3.gz | grep -q 'TH STRATA' || fail "the manual"
echo "package: $(basename "$package"), $(stat -c %s "$package") bytes"
