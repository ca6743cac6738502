-- SPDX-License-Identifier: MIT
-- MistralForCausalLM: Llama with a window in every layer, or none.
local common, class = builtin "common", builtin "class"

return function(config, tensors)
  local c = class.fields("mistral", config, common.known {
    attention_bias = false, mlp_bias = false, num_key_value_heads = common.kv_heads,
    sliding_window = common.optional,
  })
  local d, heads = common.heads(c)
  heads.rope, heads.window = common.rope(c, { head_dim = d }), common.window(c, c.sliding_window)
  local block = layer { attention(heads), common.mlp(c) }
  return common.result(c, tensors, common.decoder(c, tensors),
    common.model(c, common.layers(c, function() return block end)))
end
