-- SPDX-License-Identifier: MIT
-- A looped transformer (arXiv 1807.03819, 2311.12424): two layers of their own around a pair whose
-- weights four rounds share; every round reads all that came before it.
local function one(name)
  return layer {
    share = name,
    attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = 384 },
  }
end

return model {
  name = "looped", vocab = 256, context = 512, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  residual = denseformer {},
  layers = { one(), times(4, { one "first", one "second" }), one() },
  train = { optimizer = adamw { lr = 2e-3 }, batch = 8 },
}
