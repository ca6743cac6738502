#!/bin/sh
# SPDX-License-Identifier: MIT
# What depth mixers with much arithmetic in their row kernels cost: a training step's time over that
# of standard residuals, beside what inspect predicts; 12 layers of D 128, 4 windows of 512 tokens,
# one thread.
#   sh tests/bench/arithmetic.sh STRATA [ROUNDS]       STRATA is the compiler; ROUNDS (5)
# softmax: a softmax over sources in each channel, N exp a read and channel; convolution: three taps
# along depth through a sigmoid.  Columns: medians of tokens/s, of the ratio of times in the same
# round, and the predicted ratio.  Nothing else should run meanwhile.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
strata=$1 rounds=${2:-5} folder=
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
. "$here/results.sh"
cat > "$folder/softmax.lua" <<'MIXER'
local function read(m, state, site)
  local sources = stack(state.list)
  m:sources(#state.list)
  local logits = m:param(site, "bias", { #state.list, m.dim }, 0)
    + m:param(site, "gate", { m.dim }, 0) * sources
  return sum(softmax(logits, 1) * sources, 1)
end
MIXER
cat > "$folder/convolution.lua" <<'MIXER'
local TAPS = 3
local function read(m, state)
  local n = #state.list
  m:sources(n)
  local sources, taps, mixed = stack(state.list), m:param("taps", "weight", { TAPS, m.dim }, 0.5), 0
  for k = 0, math.min(TAPS, n) - 1 do
    local part = slice(sources, 1, 1, n - k)
    if k > 0 then part = concat({ 0 * slice(sources, 1, 1, k), part }, 1) end
    mixed = mixed + slice(taps, 1, k + 1, 1) * part
  end
  return sum(mixed * sigmoid(mixed), 1)
end
MIXER
for mixer in softmax convolution; do
    cat >> "$folder/$mixer.lua" <<'MIXER'
return mixer {
  open = function(_, e) return { list = { e } } end,
  read = read,
  write = function(_, state, _, out) table.insert(state.list, out) return state end,
  close = read,
}
MIXER
done
mixers="standard softmax convolution"
for mixer in $mixers; do
    case $mixer in standard) residual='standard {}' ;; *) residual="require \"$mixer\" {}" ;; esac
    cat > "$folder/model_$mixer.lua" <<SPEC
return model {
  name = "$mixer", vocab = 256, context = 512, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 }, residual = $residual,
  layers = times(12, layer {
    attention { heads = 4, rope = { theta = 10000 } },
    mlp { hidden = 1024, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 3e-4 }, batch = 4 },
}
SPEC
    "$strata" build "$folder/model_$mixer.lua" -o "$folder/$mixer"
    "$strata" inspect "$folder/model_$mixer.lua" --json |
        sed -n "s/.*\"predicted\": {\"seconds\": {.*\"training\": *\([-0-9.e+]*\)}.*/$mixer \1/p"
done > "$folder/predicted"
round=0
while [ $round -lt "$rounds" ]; do
    for mixer in $mixers; do
        "$folder/$mixer" bench --train --steps 3 --threads 1 --json |
            sed -n "s/.*\"tokens_per_second\": *\([-0-9.e+]*\), \"seconds\".*/$mixer \1/p"
    done
    round=$((round + 1))
done > "$folder/measured"
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
echo "$processor, one thread, $(date -u +%F)"
awk -f "$here/median.awk" -f /dev/fd/3 "$folder/predicted" "$folder/measured" 3<<'AWK'
FILENAME ~ /predicted$/ { predicted[$1] = $2; mixer[++mixers] = $1; next }
{ speed[$1, ++n[$1]] = $2 }
END {
    printf "%-12s %10s %7s %10s\n", "mixer", "tokens/s", "time", "predicted"
    for (i = 1; i <= mixers; i++) {
        m = mixer[i]
        for (k = 1; k <= n[m]; k++) {
            s[k] = speed[m, k]
            q[k] = speed[mixer[1], k] / speed[m, k]
        }
        printf "%-12s %10.1f %7.3f %10.3f\n", m, middle(s, n[m]), middle(q, n[m]),
            predicted[m] / predicted[mixer[1]]
    }
}
AWK
