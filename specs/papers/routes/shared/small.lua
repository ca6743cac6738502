-- SPDX-License-Identifier: MIT
-- A small family that trains in minutes, the same but for its routes, with the recipe of DTRNet.
--   small { name = "small_bilayer", layout = "bilayer", route = dtr {}, penalty = 8e-4 }
local layouts = require "shared.layouts"

return function(o)
  return model {
    name = o.name, vocab = 256, context = 256, dim = 128, tokenizer = "chars",
    norm = rmsnorm { eps = 1e-5 },
    residual = o.residual,
    layers = layouts(o.layout, 6, function()
      return { attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = 352 } }
    end, o.route),
    route_penalty = o.penalty,
    train = { optimizer = adamw { lr = 1e-3, clip = 0.1 },
              schedule = cosine { warmup = 0.1 },
              batch = 16, seed = 1 },
  }
end
