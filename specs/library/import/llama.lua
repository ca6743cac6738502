-- SPDX-License-Identifier: MIT
-- LlamaForCausalLM: Llama 1 to 3, SmolLM, TinyLlama and many more.
local common, class = builtin "common", builtin "class"

return function(config, tensors)
  local c = class.fields("llama", config, common.known { rope_interleaved = common.never },
    { "is_llama_config" }, { "rope_interleaved" })
  local d, heads = common.heads(c)
  heads.bias, heads.rope = c.attention_bias, common.rope(c, { head_dim = d })
  local block = layer { attention(heads), common.mlp(c) }
  return common.result(c, tensors, common.decoder(c, tensors),
    common.model(c, common.layers(c, function() return block end)))
end
