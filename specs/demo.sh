#!/bin/sh
# SPDX-License-Identifier: MIT
# From a spec to a model that speaks:
#   sh specs/demo.sh [TEXT...]
# Installs what is missing, builds Strata, compiles specs/demo.lua, trains the program
# it became for about two minutes on the given texts (without arguments: the licence
# texts that every Debian system carries), evaluates it and lets it write.
# All that it makes is in build/demo/.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/cmake/setup.sh"
work=$top/build/demo

if [ $# = 0 ]; then set -- /usr/share/common-licenses/*; fi
for text in "$@"; do
    if [ ! -f "$text" ] || [ ! -r "$text" ]; then
        echo "error: $text: expected a text that can be read" >&2
        exit 1
    fi
done
mkdir -p "$work"
for text in "$@"; do
    # the folder of licences holds links to the newest of each
    [ -L "$text" ] || cat "$text"
done >"$work/text.txt"
if [ "$(wc -c <"$work/text.txt")" -lt 20000 ]; then
    echo "error: expected 20000 bytes of text or more, found $(wc -c <"$work/text.txt")" >&2
    exit 1
fi

setup_llvm
# shellcheck disable=SC2086
setup_packages $BUILD_PACKAGES "llvm-$LLVM-dev" "clang-$LLVM"
echo "== building Strata with LLVM $LLVM"
setup_build "$top/build" "$LLVM" strata strata_runtime

cd "$work"
rm -f before.safetensors* after.safetensors* log.jsonl
echo "== compiling specs/demo.lua"
"$top/build/strata" build "$top/specs/demo.lua" -o demo
./demo info

sample() {
    ./demo generate --weights "$1" --prompt "The " --max-tokens 200 --temperature 0.7 --top-k 20 \
        --seed 1 | tr -c '[:print:]\n' '?'
    echo
}

./demo train --data text.txt --steps 0 --out before.safetensors >/dev/null
echo "== before training it continues 'The ' with"
sample before.safetensors

echo "== training, two minutes"
./demo train --data text.txt --val-share 0.05 --minutes 2 --eval-every 100 \
    --out after.safetensors --log log.jsonl

echo "== evaluation on the last twentieth, which it was not trained on"
tail -c $(($(wc -c <text.txt) / 20)) text.txt >held.txt
./demo eval --weights after.safetensors.best --data held.txt
echo "== after training it continues 'The ' with"
sample after.safetensors.best
echo "== the program, its weights and its log are in $work; for more:"
echo "   cd $work && ./demo generate --weights after.safetensors.best --prompt 'The '"
