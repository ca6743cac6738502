#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python package, as its users install it: into an environment of its own, if the packages for
# that are there, else from the source tree; then pytest.
#   sh tests/python/run.sh STRATA LIBSTRATA.so
# 77, "skipped": there is no Python with numpy and pytest, or libstrata needs the sanitizers.
set -eu
STRATA=$(realpath "$1") STRATA_LIBRARY=$(realpath "$2")
export STRATA STRATA_LIBRARY
source=$(cd "$(dirname "$0")/../.." && pwd)
if [ -n "${STRATA_SANITIZE:-}" ]; then
    echo "skipped: Python is no program of the sanitizers"
    exit 77
fi
has() { "$python" -c "import $1" >/dev/null 2>&1; }
for python in python3 /usr/bin/python3; do
    if command -v $python >/dev/null && has numpy,pytest; then break; fi
    python=
done
[ "$python" ] || { echo "skipped: python3-numpy and python3-pytest are not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
if has venv,ensurepip,hatchling; then
    for file in python pyproject.toml CMakeLists.txt LICENSE; do cp -r "$source/$file" "$work"; done
    mkdir "$work/runtime"
    cp "$source/runtime/abi.h" "$source/runtime/strata.h" "$work/runtime"
    $python -m venv --system-site-packages "$work/venv"
    python=$work/venv/bin/python
    "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation "$work" || exit 1
    rm -r "$work/python"
    version=$("$python" -c 'import importlib.metadata as m; print(m.version("strata"))')
    [ "strata $version" = "$("$STRATA" --version)" ] || { echo "found version $version"; exit 1; }
else
    echo "from the source tree: no python3-venv and python3-hatchling to install the package with"
    export PYTHONPATH="$source/python"
fi
cd "$work"
"$python" -m pytest -q -p no:cacheprovider --rootdir "$work" "$source/tests/python"
