-- SPDX-License-Identifier: MIT
-- SmolLM 360M and the 1.3B shape of DTRNet (arXiv 2509.00925), with its recipe (micro-batches add
-- up with train --accumulate):
--   smollm { name = "m360_bilayer", size = "360M", layout = "bilayer", route = dtr {} }
-- vocab = 32000 is that of the Llama-2 tokenizer.
local layouts = require "shared.layouts"

local sizes = {
  ["360M"] = {
    layers = 32, vocab = 49152, dim = 960, heads = 15, kv_heads = 5, hidden = 2560,
    penalty = 8e-4,
  },
  ["1.3B"] = {
    layers = 24, vocab = 32000, dim = 2048, heads = 32, kv_heads = 32, hidden = 5632,
    penalty = 6e-4,
  },
}

return function(o)
  local s = sizes[o.size]
  if not s then
    error("smollm: expected size to be '360M' or '1.3B', found '" .. tostring(o.size) .. "'")
  end
  return model {
    name = o.name, vocab = o.vocab or s.vocab, context = 2048, dim = s.dim,
    norm = rmsnorm { eps = 1e-5 },
    layers = layouts(o.layout, s.layers, function()
      return {
        attention { heads = s.heads, kv_heads = s.kv_heads, rope = { theta = 10000 } },
        mlp { hidden = s.hidden },
      }
    end, o.route, o.dense_last),
    route_penalty = s.penalty,
    train = { optimizer = adamw { lr = 3e-4, clip = 0.1 },
              schedule = cosine { warmup = 0.1 },
              batch = 1 },
  }
end
