#!/bin/sh
# SPDX-License-Identifier: MIT
# Several reads of one sublayer, q, k and v each with weights of its own, go over the sources once:
# a training step moves at most a tenth more than where the three share one read.
#   sh tests/reads.sh STRATA
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# weights per source: a learned direction's, as DeepCrossAttention (arXiv 2502.06785) has them
cat >cross.lua <<'END'
return mixer {
  open = function(m, e) return { list = { e } } end,
  read = function(m, state, site)
    local N, V = #state.list, stack(state.list)
    m:sources(N)
    local w = relu(sum(V * m:param(site, "w", { m.dim }, normal(0.1)), 2))
    return sum(reshape(w + m:param(site, "b", { N }, 1), { N, 1 }) * V, 1)
  end,
  write = function(m, state, site, out) table.insert(state.list, out) return state end,
  close = function(m, state) return sum(stack(state.list), 1) end,
}
END
# weights per source from a small network of the newest one, as MUDDFormer (arXiv 2502.12170) has
cat >dense.lua <<'END'
return mixer {
  open = function(m, e) return { list = { e } } end,
  read = function(m, state, site)
    local N, V, x = #state.list, stack(state.list), state.list[#state.list]
    m:sources(N)
    local h = gelu(m:linear(site, "one", x * rsqrt(mean(x * x, 1) + m.eps), 2 * N))
    local w = m:linear(site, "two", h, N) + m:param(site, "b", { N }, 1)
    return sum(reshape(w, { N, 1 }) * V, 1)
  end,
  write = function(m, state, site, out) table.insert(state.list, out) return state end,
  close = function(m, state) return sum(stack(state.list), 1) end,
}
END

# bytes MIXER READS: bytes per token of a training step
bytes() {
    cat >model.lua <<END
return model {
  name = "reads", vocab = 256, context = 128, dim = 128, norm = rmsnorm {},
  residual = require "$1" {},
  layers = times(12, layer {
    attention { heads = 4, rope = {}, reads = "$2" }, mlp { hidden = 384 },
  }),
}
END
    "$strata" inspect model.lua --json | sed -n 's/.*"bytes_per_token": \([0-9]*\).*/\1/p'
}
for mixer in cross dense; do
    one=$(bytes $mixer one) each=$(bytes $mixer each)
    [ $((each * 100)) -gt $((one * 100)) ] && [ $((each * 100)) -le $((one * 110)) ] || {
        echo "reads.sh: expected three reads of $mixer to move more than $one bytes per token and" \
            "at most a tenth more, found $each"
        exit 1
    }
    echo "$mixer: $one bytes per token, $each with reads of q, k and v"
done
