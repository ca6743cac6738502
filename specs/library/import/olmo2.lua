-- SPDX-License-Identifier: MIT
-- Olmo2ForCausalLM: norms after sublayers instead of before, and of all queries and keys at once.
local common, class = builtin "common", builtin "class"

return function(config, tensors)
  local c = class.fields("olmo2", config, common.known { mlp_bias = false }, nil, { "head_dim" })
  local d, heads = common.heads(c)
  local after = { before = false, after = true }
  heads.bias, heads.rope = c.attention_bias, common.rope(c, { head_dim = d })
  heads.qk_norm, heads.norm = { over = "all" }, after
  local block = layer { attention(heads), common.mlp(c, { norm = after }) }
  local out = common.decoder(c, tensors, { qk_norm = true,
    norms = { post_attention_layernorm = "attention.after_norm",
              post_feedforward_layernorm = "mlp.after_norm" } })
  return common.result(c, tensors, out,
    common.model(c, common.layers(c, function() return block end)))
end
