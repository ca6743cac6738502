-- SPDX-License-Identifier: MIT
-- A small Inkling-2 (transformers' inkling2_text): Block AttnRes whose sources are normed as keys
-- and as values, five windows to one layer that sees everything, experts, and no rotary positions.
local D = 128

local function one(window)
  return layer {
    relative_attention { heads = 4, kv_heads = 2, head_dim = 32, window = window,
                         extent = window or 128 },
    moe { experts = 8, top = 2, hidden = 128, scale = 8, gate_cap = 4, up_cap = 25, out_conv = 4 },
  }
end

return model {
  name = "inkling_small", vocab = 256, context = 1024, dim = D, tokenizer = "bytes",
  embedding = { tied = false, norm = true }, logits = { softcap = 30 },
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { block_size = 4, key_gain = false, value_norm = true, scale = D ^ -0.5 },
  layers = { times(5, one(64)), one(), times(5, one(64)), one() },
  train = { optimizer = adamw { lr = 1e-3 }, batch = 4 },
}
