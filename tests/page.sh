#!/bin/sh
# SPDX-License-Identifier: MIT
# The pages that teach writing a mixer, a sublayer and a route: their files, as they are written
# there, build, train and write; the route's layers go on being used.  sh tests/page.sh STRATA
set -eu
strata=$(realpath "$1")
pages=$(cd "$(dirname "$0")/.." && pwd)/specs/library
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
yes 'a page that teaches ' | head -c 5000 >text

# page PAGE PART MODEL: a block after a line that is only `NAME.lua`: goes to that file
page() {
    awk '/^`[a-z]+\.lua`:$/ { name = substr($0, 2, length($0) - 3); next }
         /^```lua$/ { inside = name != ""; next }
         /^```$/ { inside = 0; name = ""; next }
         inside { print > name }' "$pages/$1"
    for name in "$2.lua" "$3.lua"; do
        [ -s "$name" ] || { echo "page.sh: expected $name in $1"; exit 1; }
    done
    "$strata" check "$3.lua"
    "$strata" build "$3.lua"
    "./$3" train --data text --steps 12 --order sequential --log "$3.log" >/dev/null
    awk -F'"loss": ' '/"loss"/ { split($2, a, ","); if (!n++) first = a[1]; last = a[1] }
                      END { exit !(last < 0.9 * first) }' "$3.log" ||
        { echo "page.sh: expected the loss of $3 to fall"; cat "$3.log"; exit 1; }
    "./$3" generate --weights "$3.safetensors" --prompt 'a ' --max-tokens 5 >/dev/null
}
page sublayers.md gated gater
page mixers.md choice chooser
page routes.md likes liker
# Sentences that no page's edit changes: the shares below are of this text.
awk 'BEGIN { split("the a one each other", of); split("reads writes takes leaves closes sums", does)
             split("layer token route gate mean share step", thing)
             for (seed = 1; n++ < 900;) { line = ""
                 for (i = 0; i < 5; i++) { seed = (seed * 16807) % 2147483647
                     line = line (i == 1 || i == 4 ? thing[seed % 7 + 1] : \
                                  i == 2 ? does[seed % 6 + 1] : of[seed % 5 + 1]) " " }
                 print line "." } }' >long.txt
# routed SPEC: trained on that text, the smallest share of a step's tokens that a route took on
# average of the last 40 of 120 steps
routed() {
    "$strata" run "$1.lua" train --data long.txt --steps 120 --out "$1.long" \
        --log "$1.long.log" >"$1.said"
    awk -F'"routed": .' '/"routed"/ && n++ >= 80 { split($2, share, /[],]/)
            for (i = 1; i <= 2; i++) sum[i] += share[i] / 40 }
        END { print sum[1] < sum[2] ? sum[1] : sum[2] }' "$1.long.log"
}
share=$(routed liker)
awk "BEGIN { exit !($share > 0.15 && $share < 0.85) }" ||
    { echo "page.sh: expected the route of routes.md to take about half, found $share"; exit 1; }
! grep "last tenth's tokens" liker.said || exit 1
# with a loss that draws the share to 0 they close, and train says so
sed 's/^      (share - .*/      share/; s/2 \* reshape/reshape/' likes.lua >closing.lua
sed 's/"likes"/"closing"/; s/"liker"/"closer"/' liker.lua >closer.lua
share=$(routed closer)
grep -q "^note: layers\.[13] took .* % of the last tenth's tokens" closer.said ||
    { echo "page.sh: expected a note of layers that took nothing, $share"; exit 1; }
# it is fused: as many row kernels as the plain residual stream has, forward
sed 's/require "choice" { keep = 0.9 }/standard {}/; s/"chooser"/"plain"/' chooser.lua >plain.lua
for name in chooser plain; do "$strata" build $name.lua --inference -o $name; done
calls() { "./$1" bench --prefill 16 --steps 1 | awk '$2 == "row" { n += $3 } END { print n }'; }
[ "$(calls chooser)" = "$(calls plain)" ] || {
    echo "page.sh: expected $(calls plain) row kernels, found $(calls chooser)"
    exit 1
}
# profilers and debuggers are told its lines, and the library's: the product of the query
# and the sources is line 9 of the file
silu=$(grep -n 'name = "silu"' "$pages/activations.lua" | cut -d: -f1)
lines=$(objdump --dwarf=decodedline chooser | awk '{ print $1, $2 }' | sort -u)
for line in "choice.lua 9" "choice.lua 10" "rmsnorm.lua 11" "activations.lua $silu"; do
    echo "$lines" | grep -qx "$line" ||
        { echo "page.sh: expected machine code of $line, found none"; exit 1; }
done
echo "the pages' sublayer, mixer, route: build, learn, write; the mixer is fused, its lines known"
