-- SPDX-License-Identifier: MIT
-- Qwen2ForCausalLM: biases of q, k and v, which no field announces; windows in late layers.
local common = builtin "common"

return common.windowed("qwen2", {
  attention_bias = false, mlp_bias = false, num_key_value_heads = common.kv_heads,
}, { "head_dim", "use_mrope" }, function() return { bias = { "q", "k", "v" } } end)
