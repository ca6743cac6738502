-- SPDX-License-Identifier: MIT
-- ZayaForCausalLM: a residual stream whose terms have scales and biases, attention behind
-- convolutions, one expert or none of each layer; its router goes on with what that of the layer
-- before found.  The bias of choosing none is the file's; transformers 5.24 takes -1.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local taps = { type = "integer", min = 1, max = 64, required = true }

local function known()
  return common.known {
    intermediate_size = false, mlp_bias = false, rope_theta = false, rope_scaling = false,
    rope_parameters = { type = "object" }, partial_rotary_factor = false,
    head_dim = common.size(), num_key_value_heads = common.size(),
    tie_word_embeddings = common.yes, sliding_window = common.optional,
    layer_types = { type = "table" }, lm_head_bias = experts.only(false),
    num_experts = common.size(), num_experts_per_tok = experts.only(1),
    moe_intermediate_size = common.size(), router_hidden_size = common.size(),
    cca_time0 = taps, cca_time1 = taps,
  }
end

local function attends(c, kind)
  local near = kind == "hybrid_sliding"
  if near and not c.sliding_window then
    refuse("sliding_window", "a positive integer with hybrid_sliding layers", "none")
  end
  return conv_attention {
    heads = c.num_attention_heads, kv_heads = c.num_key_value_heads, head_dim = c.head_dim,
    channel_taps = c.cca_time0, head_taps = c.cca_time1, bias = c.attention_bias,
    window = near and common.window(c, c.sliding_window) or nil,
    rope = common.rope(c, { head_dim = c.head_dim, layer_type = kind, partial = true }),
  }
end

local function attention_tensors(c, tensors, out, ours, theirs)
  local H, d = c.num_attention_heads + c.num_key_value_heads, c.head_dim
  local from = theirs .. "qkv_proj."
  for mine, name in pairs { q = "q_proj", k = "k_proj", v = "v_proj_current",
                            v_before = "v_proj_delayed" } do
    common.linear(out, tensors, ours .. mine, from .. name)
  end
  common.linear(out, tensors, ours .. "o", theirs .. "o_proj")
  out[ours .. "k_scale"] = theirs .. "qk_norm.temp"
  out[ours .. "channel_conv.weight"] = reshape(from .. "conv_qk_depthwise.weight",
    { H * d, c.cca_time0 })
  out[ours .. "channel_conv.bias"] = from .. "conv_qk_depthwise.bias"
  out[ours .. "head_conv.weight"] = reshape(
    transpose(from .. "conv_qk_grouped.weight", { 1, 3, 2 }), { H, d, c.cca_time1 * d })
  out[ours .. "head_conv.bias"] = from .. "conv_qk_grouped.bias"
end

local function router_tensors(out, tensors, ours, theirs)
  common.linear(out, tensors, ours .. "down", theirs .. "down_proj")
  common.linear(out, tensors, ours .. "first", theirs .. "router_mlp.fc1")
  common.linear(out, tensors, ours .. "second", theirs .. "router_mlp.fc2")
  common.linear(out, tensors, ours .. "out", theirs .. "router_mlp.out_proj")
  out[ours .. "norm.weight"] = theirs .. "router_mlp.norm.weight"
  out[ours .. "balance_bias"] = theirs .. "balancing_biases"
  if tensors[theirs .. "router_states_scale"] then
    out[ours .. "carry"] = theirs .. "router_states_scale"
  end
end

local function stream_tensors(out, ours, theirs)
  for mine, name in pairs { stream = "residual", output = "hidden_states" } do
    for _, part in ipairs { "scale", "bias" } do
      out[ours .. ".residual." .. mine .. "." .. part] = theirs .. "." .. name .. "_" .. part
    end
  end
end

return function(config, tensors)
  local c = class.fields("zaya", config, known(),
    { "intermediate_size", table.unpack(experts.without_effect) })
  experts.take_activation(c)
  experts.check_count(c, c.num_experts)
  common.divides(c, "num_key_value_heads", "num_attention_heads")
  local types = experts.by_layer(c, "layer_types", { "hybrid", "hybrid_sliding" },
    function() return "hybrid" end)
  c.rope_parameters = c.rope_parameters or {
    hybrid = { rope_theta = 5000000, partial_rotary_factor = 0.5 },
    hybrid_sliding = { rope_theta = 10000, partial_rotary_factor = 0.5 },
  }
  common.check_nested(c.rope_parameters, "rope_parameters", { "hybrid", "hybrid_sliding" })
  local some, layers = moe {
    experts = c.num_experts, top = 1, hidden = c.moe_intermediate_size, score = "softmax",
    activation = c.activation, normalize = false, skip = true,
    router = { hidden = c.router_hidden_size, carry = true },
  }, {}
  for i, kind in ipairs(types) do
    layers[i] = named(kind == "hybrid" and "full" or "near", layer { attends(c, kind), some })
  end
  local out = experts.decoder(c, tensors, { attention = false,
    layer = function(out, _, ours, theirs)
      attention_tensors(c, tensors, out, ours .. "attention.", theirs .. "self_attn.")
      stream_tensors(out, ours .. "attention", theirs .. "post_attention_residual_scale")
      stream_tensors(out, ours .. "mlp", theirs .. "post_mlp_residual_scale")
      experts.all(out, tensors, ours .. "mlp", theirs .. "mlp", { experts = c.num_experts,
        hidden = c.moe_intermediate_size, dim = c.hidden_size })
      out[ours .. "mlp.router.weight"] = nil
      router_tensors(out, tensors, ours .. "mlp.router.", theirs .. "mlp.gate.")
    end })
  out["embed.residual.scale"] = "model.input_hidden_states_scale"
  out["embed.residual.bias"] = "model.input_hidden_states_bias"
  return common.result(c, tensors, out, experts.model(c, layers, {
    residual = residual_scaling { embedding = true },
  }))
end
