-- SPDX-License-Identifier: MIT
-- GPT2LMHeadModel: LayerNorm, learned positions, one matrix for q, k and v; matrices are stored
-- [in, out].
local common, class = builtin "common", builtin "class"

local function read(config)
  return class.fields("gpt2", config, {
    vocab_size = common.size(), n_positions = common.size(), n_embd = common.size(),
    n_layer = common.count, n_head = common.size(), n_inner = common.optional,
    activation_function = common.text, layer_norm_epsilon = common.eps,
    scale_attn_weights = common.yes, scale_attn_by_inverse_layer_idx = common.no,
    add_cross_attention = common.never,
    tie_word_embeddings = common.yes,
  }, { "attn_pdrop", "n_ctx", "reorder_and_upcast_attn", "summary_activation",
       "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj" })
end

-- Layer i, from 1.
local function block(c, i)
  local scale = c.scale_attn_weights and (c.n_embd // c.n_head) ^ -0.5 or 1
  if c.scale_attn_by_inverse_layer_idx then scale = scale / i end
  local default = c.scale_attn_weights and not c.scale_attn_by_inverse_layer_idx
  return layer {
    attention { heads = c.n_head, bias = true, scale = not default and scale or nil },
    mlp { hidden = c.n_inner or 4 * c.n_embd, bias = true,
          activation = common.activation("activation_function", c.activation_function, false) },
  }
end

-- Norms, and matrices with their biases, of layer i, from 0.
local function add_layer(out, c, before, i)
  local ours, theirs = "layers." .. i .. ".", before .. "h." .. i .. "."
  for name, other in pairs { ["attention.norm"] = "ln_1", ["mlp.norm"] = "ln_2" } do
    out[ours .. name .. ".weight"] = theirs .. other .. ".weight"
    out[ours .. name .. ".bias"] = theirs .. other .. ".bias"
  end
  for k, name in ipairs { "q", "k", "v" } do
    local first, all = (k - 1) * c.n_embd + 1, theirs .. "attn.c_attn"
    out[ours .. "attention." .. name .. ".weight"] =
      transpose(slice(all .. ".weight", 2, first, c.n_embd))
    out[ours .. "attention." .. name .. ".bias"] = slice(all .. ".bias", 1, first, c.n_embd)
  end
  for name, other in pairs { ["attention.o"] = "attn.c_proj", ["mlp.up"] = "mlp.c_fc",
                             ["mlp.down"] = "mlp.c_proj" } do
    out[ours .. name .. ".weight"] = transpose(theirs .. other .. ".weight")
    out[ours .. name .. ".bias"] = theirs .. other .. ".bias"
  end
end

return function(config, tensors)
  local c = read(config)
  common.divides(c, "n_head", "n_embd")
  c.num_hidden_layers = c.n_layer
  local before = tensors["wte.weight"] and "" or "transformer." -- files of before 2020 have none
  local out = { ["embed.weight"] = before .. "wte.weight",
                ["positions.weight"] = before .. "wpe.weight",
                ["final_norm.weight"] = before .. "ln_f.weight",
                ["final_norm.bias"] = before .. "ln_f.bias" }
  for i = 0, c.n_layer - 1 do add_layer(out, c, before, i) end
  local result = common.result(c, tensors, out, model {
    vocab = c.vocab_size, context = c.n_positions, dim = c.n_embd,
    embedding = { tied = c.tie_word_embeddings, positions = "learned" },
    norm = layernorm { eps = c.layer_norm_epsilon },
    layers = common.layers(c, function(i) return block(c, i) end),
  })
  -- masks, which older files have
  result.ignore = { before .. "h.*.attn.bias", before .. "h.*.attn.masked_bias" }
  return result
end
