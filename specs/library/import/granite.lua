-- SPDX-License-Identifier: MIT
-- GraniteForCausalLM: Llama with multipliers of embedding, scores, sublayers and logits.
local common, class = builtin "common", builtin "class"

local one = { type = "number", min = 1e-30, max = 1e30, default = 1 }

return function(config, tensors)
  local c = class.fields("granite", config, common.known {
    embedding_multiplier = one, attention_multiplier = one, residual_multiplier = one,
    logits_scaling = one,
  }, nil, { "head_dim" })
  local d, heads = common.heads(c)
  local times = c.residual_multiplier
  heads.bias, heads.rope = c.attention_bias, common.rope(c, { head_dim = d })
  heads.scale, heads.multiplier = c.attention_multiplier, times
  local block = layer { attention(heads), common.mlp(c, { multiplier = times }) }
  return common.result(c, tensors, common.decoder(c, tensors),
    common.model(c, common.layers(c, function() return block end), {
      embedding = { tied = c.tie_word_embeddings,
                    scale = c.embedding_multiplier ~= 1 and c.embedding_multiplier or nil },
      logits = c.logits_scaling ~= 1 and { scale = 1 / c.logits_scaling } or nil,
    }))
end
