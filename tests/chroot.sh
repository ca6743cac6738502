#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian package on a system that has nothing else: debootstrap makes one, apt installs the
# package with what it depends on, and its compiler builds specs/demo.lua, which trains and writes.
#   sh tests/chroot.sh PACKAGE.deb MIRROR [SUITE]      as root, with debootstrap; some minutes
# MIRROR: of Debian, for SUITE (bookworm); MIRROR-security has its security updates.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
package=$(realpath "$1") mirror=$2 suite=${3:-bookworm}
[ "$(id -u)" = 0 ] || { echo "chroot.sh: expected to run as root"; exit 1; }
command -v debootstrap >/dev/null || { echo "chroot.sh: expected debootstrap"; exit 1; }
work=$(mktemp -d)
root=$work/root
finish() {
    umount "$root/proc" 2>/dev/null || :
    rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
fail() { echo "chroot.sh: $*"; tail -n 20 "$work/log"; exit 1; }
inside() { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/log" 2>&1 || fail "debootstrap"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp /etc/apt/apt.conf.d/*[Pp]roxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
echo "deb $mirror-security $suite-security main" >>"$root/etc/apt/sources.list"
mount -t proc proc "$root/proc"
cp "$package" "$root/tmp/strata.deb"
cp "$here/../specs/demo.lua" "$here/../LICENSE" "$root/root/"
inside apt-get update >>"$work/log" 2>&1 || fail "apt-get update"
inside env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    /tmp/strata.deb >>"$work/log" 2>&1 || fail "apt cannot install the package"
inside sh -euc 'cd /root
    strata --version
    strata build demo.lua
    ./demo train --data LICENSE --steps 20 --batch 2 --threads 2
    ./demo generate --weights demo.safetensors --prompt "The " --max-tokens 20' >"$work/out" 2>&1 ||
    { cat "$work/out"; fail "the demo"; }
grep -q 'step 20/20' "$work/out" || { cat "$work/out"; fail "expected 20 steps"; }
inside apt-get purge -y strata >>"$work/log" 2>&1 || fail "cannot remove the package"
[ -z "$(find "$root/usr" -name '*strata*')" ] || fail "it left $(find "$root/usr" -name '*strata*')"
head -n 1 "$work/out"
echo "chroot: $(basename "$package") in $suite, $(inside dpkg-query -l | grep -c '^ii') packages"
