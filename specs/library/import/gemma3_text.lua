-- SPDX-License-Identifier: MIT
-- Gemma3ForCausalLM: norms before and after sublayers with gains 1 + w, an embedding times
-- sqrt(D), layers with a window that turn by a theta of their own.
local common, class = builtin "common", builtin "class"

-- What one kind of layer turns by; 'more': fields that it has beside those.
local function settings(given, theta, more)
  if given ~= nil and given ~= null and type(given) ~= "table" then return given end
  local out = common.with(given ~= null and given or {}, more or {})
  if out.rope_theta == nil then out.rope_theta = theta end
  return out
end

-- Rope of both kinds of layers: nested by their names, each with a theta of its own where none is
-- nested; fields of rope_parameters beside the two are passed over, there as here.  The scaling of
-- older files is for full attention alone.
local function ropes(c, d)
  local given, theta = common.rope_given(c), class.theta "gemma3_text"
  local scaling = c.rope_scaling
  if scaling then given = {} end
  common.check_nested(given, "rope_parameters", { "full_attention", "sliding_attention" })
  if scaling and scaling.type and not scaling.rope_type then
    refuse("rope_scaling.type", "rope_type, by which name the class looks for it", "type alone")
  end
  local both = common.with(c, { rope_scaling = false, rope_parameters = {
    full_attention = settings(given.full_attention, c.rope_theta or theta.global, scaling),
    sliding_attention = settings(given.sliding_attention, c.rope_local_base_freq or theta["local"]),
    truncate = given.truncate,
  } })
  return common.rope(both, { head_dim = d, layer_type = "full_attention",
                             where = scaling and "rope_scaling" }),
    common.rope(both, { head_dim = d, layer_type = "sliding_attention" })
end

local theta = { type = "number", above = 1, null = false }

local function read(config)
  return class.fields("gemma3_text", config, common.known {
    mlp_bias = false, hidden_act = false, hidden_activation = common.text,
    head_dim = common.size(), num_key_value_heads = common.kv_heads,
    tie_word_embeddings = common.yes, layer_types = common.window_fields.layer_types,
    sliding_window = common.optional, sliding_window_pattern = common.size(6),
    query_pre_attn_scalar = { type = "number", above = 0, required = true },
    final_logit_softcapping = common.fraction,
    use_bidirectional_attention = common.never,
    rope_theta = theta, rope_local_base_freq = theta,
  }, { "attn_logit_softcapping", "_sliding_window_pattern" }, -- which nothing reads, as there
    { "rope_local_base_freq", "sliding_window_pattern" })
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
  local pattern = c.sliding_window_pattern
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
