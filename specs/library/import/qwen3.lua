-- SPDX-License-Identifier: MIT
-- Qwen3ForCausalLM: a norm of each head's queries and keys; windows in late layers.
local common = builtin "common"

return common.windowed("qwen3", {
  mlp_bias = false, num_key_value_heads = common.kv_heads, head_dim = common.size(),
}, { "use_mrope" }, function(c)
  return { bias = c.attention_bias, qk_norm = true }
end, { qk_norm = true })
