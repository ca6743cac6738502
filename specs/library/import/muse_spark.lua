-- SPDX-License-Identifier: MIT
-- MuseSparkForConditionalGeneration, its text model: a residual stream with a gate per channel,
-- norms around every sublayer, attention with a gate of normed heads, windows and positions in most
-- layers and neither in the others, experts that work on fewer numbers.  Pictures and sounds are
-- left out.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local positive = { type = "number", above = 0, required = true }

local function known()
  return common.known {
    mlp_bias = false, partial_rotary_factor = false, rope_scaling = false,
    tie_word_embeddings = experts.only(false), head_dim = common.size(),
    num_key_value_heads = common.size(), sliding_window = common.optional,
    layer_types = { type = "table" }, mlp_layer_types = { type = "table" },
    layer_rope_theta = { type = "list", of = { type = "number", min = 0 } },
    moe_intermediate_size = common.size(), moe_hidden_size = common.size(),
    num_local_experts = common.size(), num_experts_per_tok = common.size(),
    routed_scaling_factor = positive,
    final_logit_softcapping = positive, output_multiplier = positive, qk_scale_factor = positive,
    residual_gate_temperature = positive, post_norm_eps = common.eps,
  }
end

local outer = {
  "vision_config", "audio_config", "image_token_id", "video_token_id", "audio_token_id",
  "out_hidden_size", "projector_hidden_size", "projector_hidden_act", "tie_word_embeddings",
}

-- Whether layer i, from 1, sees everything and does not turn, where no field says it.
local function is_full(c, i) return (c.num_hidden_layers - i) % 4 == 0 end

local function read(config)
  local o = fields(config, { text_config = { type = "object", required = true } }, outer)
  local c = class.fields("muse_spark", o.text_config, known(),
    experts.without_effect, nil, "text_config")
  experts.take_activation(c)
  experts.check_top(c, c.num_local_experts)
  -- without settings of ropes the class has its own, whatever rope_theta says
  c.rope_parameters = c.rope_parameters or { rope_theta = 500000 }
  c.layer_rope_theta = c.layer_rope_theta or common.layers(c, function(i)
    return is_full(c, i) and 0 or 1
  end)
  if #c.layer_rope_theta ~= c.num_hidden_layers then
    refuse("layer_rope_theta", "num_hidden_layers = " .. c.num_hidden_layers .. " of them",
      tostring(#c.layer_rope_theta))
  end
  return c
end

-- Norms around a sublayer.
local function around(c, gain)
  return { after = rmsnorm { eps = c.post_norm_eps, gain = gain } }
end

-- A layer that turns does so by the one theta of rope_parameters, whatever its own says.
local function attends(c, heads, turns, near)
  local d = c.head_dim
  return attention(common.with(heads, {
    bias = c.attention_bias, qk_norm = { gain = false }, scale = c.qk_scale_factor * d ^ -0.5,
    rope = turns and common.rope(c, { head_dim = d }) or nil,
    window = near and common.window(c, c.sliding_window) or nil,
    out_norm = { gain = false }, gate = {}, norm = around(c, false),
  }))
end

local function sparse(c)
  return moe {
    experts = c.num_local_experts, top = c.num_experts_per_tok, hidden = c.moe_intermediate_size,
    scale = c.routed_scaling_factor, router_scale = c.output_multiplier,
    activation = c.activation, latent = c.moe_hidden_size, expert_norm = { eps = c.post_norm_eps },
    norm = around(c, "before"),
  }
end

local function mlp_tensors(c, tensors, out, ours, theirs, is_sparse)
  if not is_sparse then return experts.gated(out, ours, theirs) end
  experts.all(out, tensors, ours, theirs, { experts = c.num_local_experts, bias = true,
    hidden = c.moe_intermediate_size, dim = c.moe_hidden_size })
  out[ours .. ".latent_down.weight"] = theirs .. ".pre_expert_proj.weight"
  out[ours .. ".latent_norm.weight"] = plus(theirs .. ".pre_expert_norm.weight", 1)
  out[ours .. ".latent_up.weight"] = theirs .. ".post_expert_proj.weight"
  out[ours .. ".expert_norm.weight"] = plus(theirs .. ".experts.post_expert_norm.weight", 1)
end

local gains = { input_layernorm = "attention.norm", pre_feedforward_layernorm = "mlp.norm",
                post_feedforward_layernorm = "mlp.after_norm" }

return function(config, tensors)
  local c = read(config)
  local _, heads = common.heads(c)
  local types = experts.by_layer(c, "layer_types", { "sliding_attention", "full_attention" },
    function(i) return is_full(c, i + 1) and "full_attention" or "sliding_attention" end)
  local kinds = experts.by_layer(c, "mlp_layer_types", { "sparse", "dense" },
    function() return "sparse" end)
  local layers = {}
  for i, kind in ipairs(kinds) do
    local turns, near = c.layer_rope_theta[i] ~= 0, types[i] == "sliding_attention"
    if near and not c.sliding_window then
      refuse("sliding_window", "a positive integer with sliding_attention layers", "null")
    end
    layers[i] = named((near and "near" or "full") .. (turns and "_" or "_unturned_") .. kind,
      layer { attends(c, heads, turns, near), kind == "sparse" and sparse(c)
        or mlp { hidden = c.intermediate_size, activation = c.activation,
               norm = around(c, "before") } })
  end
  local out = experts.decoder(c, tensors, { norms = {}, prefix = "model.language_model.",
    layer = function(out, i, ours, theirs)
      for name, mine in pairs(gains) do
        out[ours .. mine .. ".weight"] = plus(theirs .. name .. ".weight", 1)
      end
      out[ours .. "attention.gate.weight"] = theirs .. "self_attn.gate_proj.weight"
      out[ours .. "attention.residual.gate"] = theirs .. "post_attention_residual_gate.gate"
      out[ours .. "mlp.residual.gate"] = theirs .. "post_feedforward_residual_gate.gate"
      mlp_tensors(c, tensors, out, ours .. "mlp", theirs .. "mlp", kinds[i + 1] == "sparse")
    end })
  local result = common.result(c, tensors, out, experts.model(c, layers, {
    embedding = { tied = false, norm = rmsnorm { eps = c.rms_norm_eps, gain = false } },
    logits = { scale = c.output_multiplier, softcap = c.final_logit_softcapping },
    residual = residual_gate { temperature = c.residual_gate_temperature },
  }))
  for _, part in ipairs { "vision_tower", "audio_tower", "vision_adapter", "vision_projection" } do
    experts.leave(result, "model." .. part .. ".")
  end
  return result
end
