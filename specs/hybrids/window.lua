-- SPDX-License-Identifier: MIT
-- Three layers with a window to one that sees everything, as Gemma 3 and Qwen have it in other
-- proportions: time and the cache of the three do not grow with the text.
local function attends(window)
  return layer {
    attention { heads = 4, kv_heads = 2, window = window, sinks = true, rope = { theta = 10000 } },
    mlp { hidden = 384 },
  }
end

return model {
  name = "window", vocab = 256, context = 2048, dim = 128, tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { block_size = 4 },
  layers = times(3, { attends(128), attends(128), attends(128), attends() }),
  train = { optimizer = adamw { lr = 2e-3 }, batch = 8 },
}
