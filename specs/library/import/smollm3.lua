-- SPDX-License-Identifier: MIT
-- SmolLM3ForCausalLM: Llama, some layers of which do not turn by position (arXiv 2501.18795).
local common, class = builtin "common", builtin "class"

-- By layer, from 1, whether it turns.
local function turning(c)
  local given = c.no_rope_layers
  if given and #given < c.num_hidden_layers then
    refuse("no_rope_layers", "num_hidden_layers = " .. c.num_hidden_layers .. " of them",
      tostring(#given))
  end
  return common.layers(c, function(i)
    if given then return given[i] ~= 0 end
    return i % c.no_rope_layer_interval ~= 0
  end)
end

return function(config, tensors)
  local c = class.fields("smollm3", config, common.known(common.with(common.window_fields, {
    tie_word_embeddings = common.yes, num_key_value_heads = common.kv_heads,
    no_rope_layers = { type = "list", of = { type = "integer", min = 0, max = 1 } },
    no_rope_layer_interval = common.size(),
  })), { "max_window_layers" }, { "head_dim" })
  local d, heads = common.heads(c)
  heads.bias = c.attention_bias
  local rope, turns = common.rope(c, { head_dim = d }), turning(c)
  local window = c.use_sliding_window and c.sliding_window or nil
  local slides = common.sliding(c, window, function(i) return window ~= nil and not turns[i] end)
  local layers = common.layers(c, function(i)
    local options = common.with(heads, { rope = turns[i] and rope or nil,
      window = slides[i] and common.window(c, window) or nil })
    return named((turns[i] and "turning" or "plain") .. (slides[i] and "_sliding" or ""),
      layer { attention(options), common.mlp(c) })
  end)
  return common.result(c, tensors, common.decoder(c, tensors), common.model(c, layers))
end
