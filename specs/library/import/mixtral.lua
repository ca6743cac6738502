-- SPDX-License-Identifier: MIT
-- MixtralForCausalLM: experts in every layer, weighted by a softmax over the chosen.
local common, class, experts = builtin "common", builtin "class", builtin "experts"

return function(config, tensors)
  local c = class.fields("mixtral", config, common.known {
    mlp_bias = false, attention_bias = false, num_experts_per_tok = common.size(),
    num_local_experts = common.optional, num_experts = common.optional,
    sliding_window = common.optional, num_key_value_heads = common.size(),
  }, experts.without_effect)
  local d, heads = common.heads(c)
  local count = experts.either(c, "num_local_experts", "num_experts",
    class.default("mixtral", "num_local_experts"))
  experts.take_activation(c)
  experts.check_top(c, count)
  heads.rope, heads.window = common.rope(c, { head_dim = d }), c.sliding_window
  local block = layer {
    attention(heads),
    moe { experts = count, top = c.num_experts_per_tok, hidden = c.intermediate_size,
          activation = c.activation, score = "softmax", balance_bias = false },
  }
  local layers = {}
  for i = 1, c.num_hidden_layers do layers[i] = block end
  local out = experts.decoder(c, tensors, { layer = function(out, _, ours, theirs)
    experts.all(out, tensors, ours .. "mlp", theirs .. "block_sparse_moe",
      { experts = count, names = { "w1", "w3", "w2" } })
  end })
  return common.result(c, tensors, out, experts.model(c, layers))
end
