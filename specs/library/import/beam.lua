-- SPDX-License-Identifier: MIT
-- BeamForCausalLM: a residual stream whose sums keep their size, norms around every sublayer, gated
-- attention with windows and positions in most layers and neither in the others, whose scores grow
-- with the place.
local common, class, experts = builtin "common", builtin "class", builtin "experts"

local function known()
  return common.known(experts.router_fields {
    mlp_bias = false, rope_theta = false, rope_scaling = false, partial_rotary_factor = false,
    rope_parameters = { type = "object" },
    num_experts = common.size(), sliding_window = common.optional,
    head_dim = common.size(), num_key_value_heads = common.size(),
    layer_types = { type = "table" }, mlp_layer_types = { type = "table" },
    final_logit_softcapping = { type = "number", above = 0 },
  })
end

local function attends(c, heads, kind)
  local o = {}
  for name, value in pairs(heads) do o[name] = value end
  o.bias, o.qk_norm, o.gate, o.norm = c.attention_bias, true, { bias = true }, { after = true }
  local given = c.rope_parameters[kind]
  if given == nil then refuse("rope_parameters." .. kind, "an object or null", "none") end
  if given ~= null and type(given) ~= "table" then
    fields(given, {}, nil, "rope_parameters." .. kind) -- which refuses it
  end
  if given == null then
    o.growth = { from = 2048, power = 0.1 }
  else
    o.rope = common.rope({ rope_parameters = given,
                           max_position_embeddings = c.max_position_embeddings },
      { head_dim = common.heads(c), where = "rope_parameters." .. kind })
  end
  if kind == "sliding_attention" and not c.sliding_window then
    refuse("sliding_window", "a positive integer with sliding_attention layers", "null")
  end
  o.window = kind == "sliding_attention" and c.sliding_window or nil
  return attention(o)
end

local norms = {
  input_layernorm = "attention.norm", post_attention_layernorm = "attention.after_norm",
  pre_feedforward_layernorm = "mlp.norm", post_feedforward_layernorm = "mlp.after_norm",
}

return function(config, tensors)
  local c = class.fields("beam", config, known(), experts.without_effect,
    { "moe_layer_freq" })
  experts.take_activation(c)
  c.rope_parameters = c.rope_parameters or {
    sliding_attention = { rope_theta = class.theta "beam" }, full_attention = null,
  }
  common.check_nested(c.rope_parameters, "rope_parameters",
    { "full_attention", "sliding_attention" })
  local _, heads = common.heads(c)
  local types = experts.by_layer(c, "layer_types", { "sliding_attention", "full_attention" },
    function(i)
      local full = i % 6 == 5 or i == c.num_hidden_layers - 1
      return full and "full_attention" or "sliding_attention"
    end)
  local kinds = experts.by_layer(c, "mlp_layer_types", { "sparse", "dense" },
    function(i) return i < 3 and "dense" or "sparse" end)
  local layers, sparse = {}, {}
  for i, kind in ipairs(kinds) do
    local mix = kind == "dense" and mlp { hidden = c.intermediate_size, activation = c.activation,
                                        norm = { after = true } }
      or experts.grouped(c, c.num_experts, nil, { norm = { after = true } })
    sparse[i - 1] = kind == "sparse"
    layers[i] = named((types[i] == "full_attention" and "full_" or "near_") .. kind,
      layer { attends(c, heads, types[i]), mix })
  end
  local out = experts.decoder(c, tensors, { qk_norm = true, norms = norms,
    layer = function(out, i, ours, theirs)
      out[ours .. "attention.gate.weight"] = theirs .. "self_attn.gate_proj.weight"
      out[ours .. "attention.gate.bias"] = theirs .. "self_attn.gate_bias"
      if sparse[i] then
        experts.all(out, tensors, ours .. "mlp", theirs .. "mlp", { bias = true,
          experts = c.num_experts, hidden = c.moe_intermediate_size, dim = c.hidden_size })
      else
        experts.gated(out, ours .. "mlp", theirs .. "mlp")
      end
    end })
  return common.result(c, tensors, out, experts.model(c, layers, {
    logits = c.final_logit_softcapping and { softcap = c.final_logit_softcapping } or nil,
    residual = depth_scaled {},
  }))
end
