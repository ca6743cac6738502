-- SPDX-License-Identifier: MIT
-- Qwen3MoeForCausalLM: Qwen3 with experts in most layers, chosen by a softmax over all of them.
local common, class, experts = builtin "common", builtin "class", builtin "experts"

local function known()
  return common.known {
    mlp_bias = false, num_key_value_heads = common.size(),
    moe_intermediate_size = common.size(), num_experts_per_tok = common.size(),
    num_experts = common.optional, num_local_experts = common.optional,
    norm_topk_prob = common.no, decoder_sparse_step = common.size(),
    mlp_only_layers = { type = "table", default = {} },
    use_sliding_window = common.no, sliding_window = common.optional,
  }
end

-- Whether a layer, from 0, has experts.
local function is_sparse(c, i)
  for _, other in ipairs(c.mlp_only_layers) do
    if other == i then return false end
  end
  return (i + 1) % c.decoder_sparse_step == 0
end

return function(config, tensors)
  local without = { "max_window_layers", table.unpack(experts.without_effect) }
  local c = class.fields("qwen3_moe", config, known(), without, { "head_dim" })
  local d, heads = common.heads(c)
  local count = experts.either(c, "num_experts", "num_local_experts",
    class.default("qwen3_moe", "num_local_experts"))
  heads.bias, heads.qk_norm = c.attention_bias, true
  heads.rope = common.rope(c, { head_dim = d })
  heads.window = c.use_sliding_window and c.sliding_window or nil
  experts.take_activation(c)
  experts.check_top(c, count)
  local sparse = named("sparse", layer {
    attention(heads),
    moe { experts = count, top = c.num_experts_per_tok, hidden = c.moe_intermediate_size,
          activation = c.activation, score = "softmax", normalize = c.norm_topk_prob,
          balance_bias = false },
  })
  local dense = named("dense", layer { attention(heads),
    mlp { hidden = c.intermediate_size, activation = c.activation } })
  local layers = {}
  for i = 0, c.num_hidden_layers - 1 do layers[i + 1] = is_sparse(c, i) and sparse or dense end
  local out = experts.decoder(c, tensors, { qk_norm = true,
    layer = function(out, i, ours, theirs)
      if is_sparse(c, i) then
        experts.all(out, tensors, ours .. "mlp", theirs .. "mlp",
          { experts = count, hidden = c.moe_intermediate_size, dim = c.hidden_size })
      else
        experts.gated(out, ours .. "mlp", theirs .. "mlp")
      end
    end })
  return common.result(c, tensors, out, experts.model(c, layers))
end
