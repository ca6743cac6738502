#!/bin/sh
# SPDX-License-Identifier: MIT
# Reads that draw random numbers train alike whether reads share a pass or not: 12 and 48 layers,
# sources left out by chance and sources weighed by noisy logits.
#   sh tests/two_phase_trained.sh STRATA
# Losses agree to 1e-4 for ten steps; those of another seed, which draws other numbers, do not.
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "two_phase_trained.sh: $*"; exit 1; }

# mixer NAME: its read is standard input
mixer() {
    { echo 'local function read(m, s, site)'; echo '  local N, D = #s, m.dim'; cat
        echo 'end'
        echo 'return mixer { open = function(m, e) return { e } end, read = read, close = read,'
        echo '  write = function(m, s, site, out)'
        echo '    local all = table.move(s, 1, #s, 1, {})'
        echo '    all[#all + 1] = out'
        echo '    return all'
        echo '  end }'; } >"$1.lua"
}
mixer dropped <<'END'
  local u, last = random(N), {}
  for i = 1, N do last[i] = i == N and 1 or 0 end
  local keep = max(step(u - 0.2), stack(last))
  return sum(reshape(keep, { N, 1 }) * stack(s), 1)
END
mixer noisy <<'END'
  m:sources(N)
  local V, u = stack(s), random(N)
  local z = sum(V * m:param(site, "query", { D }, 0), 2) * rsqrt(mean(V * V, 2) + m.eps)
  z = select(sampling(), z - 0.1 * log(-log(u)), z)
  return sum(reshape(softmax(z, 1), { N, 1 }) * V, 1)
END
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "%d of %d\n", i, i * i % 97 }' >text.txt

# losses NAME SEED: of each step, into NAME.losses
losses() {
    ./program train --data text.txt --steps 10 --lr 3e-3 --batch 4 --seed "$2" \
        --out "$1.safetensors" --log "$1.jsonl" >log 2>&1 || { cat log; fail "$1: not trained"; }
    grep -o '"loss": *[0-9.e+-]*' "$1.jsonl" | sed 's/.*: *//' >"$1.losses"
    [ "$(wc -l <"$1.losses")" = 10 ] || fail "$1: expected 10 losses, found $(wc -l <"$1.losses")"
}

# apart A B: the largest difference
apart() {
    paste "$1.losses" "$2.losses" |
        awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print most + 0 }'
}

for name in dropped noisy; do
    for layers in 12 48; do
        cat >model.lua <<END
return model {
  name = "m", vocab = 256, context = 32, dim = 32, tokenizer = "bytes", norm = rmsnorm {},
  residual = require "$name" {},
  layers = times($layers, layer { attention { heads = 2 }, mlp { hidden = 48 } }),
}
END
        for how in on off; do
            "$strata" build model.lua --two-phase $how --overwrite -o program
            losses "$name$layers$how" 5
        done
        [ $layers = 48 ] || losses "$name${layers}other" 6
        d=$(apart "$name${layers}on" "$name${layers}off")
        awk "BEGIN { exit !($d < 1e-4) }" ||
            fail "$name, $layers layers: losses differ by $d with --two-phase on and off"
        echo "$name, $layers layers: losses differ by $d"
    done
    d=$(apart "${name}12off" "${name}12other")
    awk "BEGIN { exit !($d > 1e-3) }" || fail "$name: another seed's losses differ by $d only"
done
