-- SPDX-License-Identifier: MIT
-- The three sizes of the HAARES paper (arXiv 2606.06564), for any mixer:
--   family {
--     name = "haares_small_12", size = "small", layers = 12,
--     residual = haares { blocks = 4 },
--   }
-- context, batch, lr and schedule are the paper's unless told otherwise.
local sizes = {
  small = { dim = 128, hidden = 1024 },
  medium = { dim = 512, hidden = 2048 },
  large = { dim = 768, hidden = 3072 },
}

return function(o)
  local s = sizes[o.size]
  if not s then
    error("family: expected size to be 'small', 'medium' or 'large', found '" .. tostring(o.size)
      .. "'")
  end
  return model {
    name = o.name, vocab = 256, context = o.context or 512, dim = s.dim, tokenizer = "chars",
    embedding = { tied = true },
    norm = rmsnorm { eps = 1e-6 },
    residual = o.residual,
    layers = times(o.layers, layer {
      attention { heads = 8, rope = { theta = 10000 } },
      mlp { hidden = s.hidden, activation = "swiglu" },
    }),
    train = { optimizer = adamw { lr = o.lr or 3e-4 }, schedule = o.schedule or constant {},
              batch = o.batch or 16, seed = 42 },
  }
end
