#!/bin/sh
# The page that teaches writing a mixer: its files, as they are written there, build,
# train and write.  sh tests/page.sh STRATA
set -eu
strata=$(realpath "$1")
page=$(cd "$(dirname "$0")/.." && pwd)/specs/library/mixers.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# a block after a line that is only `NAME.lua`: goes to that file
awk '/^`[a-z]+\.lua`:$/ { name = substr($0, 2, length($0) - 3); next }
     /^```lua$/ { inside = name != ""; next }
     /^```$/ { inside = 0; name = ""; next }
     inside { print > name }' "$page"
for name in choice.lua chooser.lua; do
    [ -s $name ] || { echo "page.sh: expected $name in $page"; exit 1; }
done
"$strata" check chooser.lua
"$strata" build chooser.lua
yes 'a page that teaches ' | head -c 5000 >text
./chooser train --data text --steps 12 --order sequential --log log >/dev/null
awk -F'"loss": ' '/"loss"/ { split($2, a, ","); if (!n++) first = a[1]; last = a[1] }
                  END { exit !(last < 0.9 * first) }' log ||
    { echo "page.sh: expected the loss to fall"; cat log; exit 1; }
./chooser generate --weights chooser.safetensors --prompt 'a ' --max-tokens 5 >/dev/null
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
lines=$(objdump --dwarf=decodedline chooser | awk '{ print $1, $2 }' | sort -u)
for line in "choice.lua 9" "choice.lua 10" "rmsnorm.lua 7" "mlp.lua 2"; do
    echo "$lines" | grep -qx "$line" ||
        { echo "page.sh: expected machine code of $line, found none"; exit 1; }
done
echo "the page's mixer: builds, learns, writes, fused; its lines are known"
