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

# As many steps as this machine takes in two minutes, by the speed of a few: the
# schedule needs to know the end.
speed=$(./demo bench --train --steps 10 --json | grep -o '"seconds": *[0-9.e-]*' | head -n 1 |
    sed 's/.*: *//')
steps=$(awk -v s="$speed" 'BEGIN { n = int(115 / s); print n < 20 ? 20 : n }')
echo "== training, $steps steps, about two minutes"
./demo train --data text.txt --val-share 0.05 --steps "$steps" --eval-every $((steps / 5)) \
    --out after.safetensors --log log.jsonl

echo "== evaluation on the last twentieth, which it was not trained on"
tail -c $(($(wc -c <text.txt) / 20)) text.txt >held.txt
./demo eval --weights after.safetensors --data held.txt
echo "== after training it continues 'The ' with"
sample after.safetensors
echo "== the program, its weights and its log are in $work; for more:"
echo "   cd $work && ./demo generate --weights after.safetensors --prompt 'The '"
