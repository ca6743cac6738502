-- SPDX-License-Identifier: MIT
-- DeepseekV3ForCausalLM: latent attention, and experts in groups but for the first layers.  Modules
-- that predict further tokens (num_nextn_predict_layers) are left out.
local common, class, experts = builtin "common", builtin "class", builtin "experts"

local mtp = { type = "integer", min = 0, max = 64 }

local function known()
  return common.known(experts.latent_fields(experts.router_fields {
    mlp_bias = false, num_key_value_heads = false,
    n_routed_experts = common.optional, num_local_experts = common.optional,
    n_shared_experts = { type = "integer", min = 0, max = 1024, default = 1 },
    first_k_dense_replace = { type = "integer", min = 0, max = 10000, default = 3 },
    rope_interleave = common.yes,
    num_nextn_predict_layers = mtp, num_mtp_layers = mtp,
    scoring_func = experts.only "sigmoid", topk_method = experts.only "noaux_tc",
  }))
end

return function(config, tensors)
  local without = { table.unpack(experts.without_effect) }
  for _, name in ipairs(experts.latent_without_effect) do without[#without + 1] = name end
  local c = class.fields("deepseek_v3", config, known(), without,
    { "head_dim", "moe_layer_freq", "scoring_func", "topk_method" })
  local count = experts.either(c, "n_routed_experts", "num_local_experts",
    class.default("deepseek_v3", "n_routed_experts"))
  local further = experts.either(c, "num_nextn_predict_layers", "num_mtp_layers",
    class.default("deepseek_v3", "num_nextn_predict_layers"))
  if c.head_dim and c.head_dim ~= c.qk_rope_head_dim then
    refuse("head_dim", "qk_rope_head_dim = " .. c.qk_rope_head_dim, tostring(c.head_dim))
  end
  experts.take_activation(c)
  local rope = common.rope(c, { head_dim = c.qk_rope_head_dim, field = "qk_rope_head_dim" })
  rope.style = c.rope_interleave and "interleaved" or nil
  local attends = experts.latent(c, rope)
  local sparse = named("sparse", layer { attends, experts.grouped(c, count, c.n_shared_experts) })
  local dense = named("dense", layer { attends,
    mlp { hidden = c.intermediate_size, activation = c.activation } })
  local layers = {}
  local function is_dense(i) return i < c.first_k_dense_replace end
  for i = 0, c.num_hidden_layers - 1 do layers[i + 1] = is_dense(i) and dense or sparse end
  local out = experts.decoder(c, tensors, { attention = false,
    layer = function(out, i, ours, theirs)
      experts.latent_tensors(c, out, ours .. "attention", theirs .. "self_attn")
      if is_dense(i) then return experts.gated(out, ours .. "mlp", theirs .. "mlp") end
      experts.all(out, tensors, ours .. "mlp", theirs .. "mlp",
        { experts = count, hidden = c.moe_intermediate_size, dim = c.hidden_size, bias = true })
      if c.n_shared_experts > 0 then
        experts.gated(out, ours .. "mlp.shared", theirs .. "mlp.shared_experts")
      end
    end })
  local result = common.result(c, tensors, out, experts.model(c, layers))
  for k = 0, further - 1 do
    experts.leave(result, "model.layers." .. c.num_hidden_layers + k .. ".")
  end
  return result
end
