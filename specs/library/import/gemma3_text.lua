-- SPDX-License-Identifier: MIT
-- Gemma3ForCausalLM: norms before and after sublayers with gains 1 + w, an embedding times
-- sqrt(D), layers with a window that turn by a theta of their own.
local common = builtin "common"

-- Rope of both kinds of layers: nested by their names, or from the fields of older files, whose
-- scaling is for full attention alone.
local function ropes(c, d)
  if c.rope_parameters then
    return common.rope(c, { head_dim = d, layer_type = "full_attention" }),
      common.rope(c, { head_dim = d, layer_type = "sliding_attention" })
  end
  local near = common.with(c, { rope_scaling = false })
  return common.rope(c, { head_dim = d }),
    common.rope(near, { head_dim = d, theta = c.rope_local_base_freq })
end

local function read(config)
  return fields(config, common.known {
    mlp_bias = false, hidden_act = false, hidden_activation = common.text,
    head_dim = common.size(), num_key_value_heads = common.kv_heads,
    tie_word_embeddings = common.yes, layer_types = common.window_fields.layer_types,
    sliding_window = common.optional, sliding_window_pattern = common.size(6),
    _sliding_window_pattern = common.optional,
    query_pre_attn_scalar = { type = "number", above = 0, required = true },
    final_logit_softcapping = common.fraction,
    use_bidirectional_attention = common.never,
    rope_local_base_freq = common.rope_fields.rope_theta,
  }, { "attn_logit_softcapping" }) -- which nothing reads, here as there
end

-- The model's layers by their kind.
local function blocks(c, d, heads)
  local full_rope, near_rope = ropes(c, d)
  local both = { after = true }
  heads = common.with(heads, { bias = c.attention_bias, qk_norm = true, norm = both,
                               scale = c.query_pre_attn_scalar ^ -0.5 })
  if c.query_pre_attn_scalar == d then heads.scale = nil end
  local feed = mlp { hidden = c.intermediate_size, norm = both,
    activation = common.activation("hidden_activation", c.hidden_activation, true) }
  local full = layer { attention(common.with(heads, { rope = full_rope })), feed }
  local sliding = layer { attention(common.with(heads,
    { rope = near_rope, window = common.window(c, c.sliding_window) })), feed }
  return named("full", full), named("sliding", sliding)
end

return function(config, tensors)
  local c = read(config)
  local d, heads = common.heads(c)
  local full, sliding = blocks(c, d, heads)
  local pattern = c._sliding_window_pattern or c.sliding_window_pattern
  local slides = common.sliding(c, c.sliding_window, function(i) return i % pattern ~= 0 end)
  local out = common.decoder(c, tensors, { qk_norm = true,
    gain = function(name) return plus(name, 1) end,
    norms = { input_layernorm = "attention.norm",
              post_attention_layernorm = "attention.after_norm",
              pre_feedforward_layernorm = "mlp.norm",
              post_feedforward_layernorm = "mlp.after_norm" } })
  local layers = common.layers(c, function(i) return slides[i] and sliding or full end)
  return common.result(c, tensors, out, common.model(c, layers, {
    embedding = { tied = c.tie_word_embeddings, scale = c.hidden_size ^ 0.5 },
    logits = c.final_logit_softcapping and { softcap = c.final_logit_softcapping } or nil,
  }))
end
