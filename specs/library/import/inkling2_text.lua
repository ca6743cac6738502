-- SPDX-License-Identifier: MIT
-- Inkling2ForCausalLM, the text model: Block Attention Residuals, windows and full attention that
-- reads three times, biases by distance, experts.  Rows of the vocabulary beyond
-- unpadded_vocab_size, which no text has, are left out.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local size, positive = common.size, { type = "number", above = 0, required = true }

local known = {
  vocab_size = size(), unpadded_vocab_size = common.optional, hidden_size = size(),
  num_hidden_layers = common.count, max_position_embeddings = common.optional,
  model_max_length = common.optional, rms_norm_eps = common.eps,
  num_attention_heads = size(), num_key_value_heads = size(), head_dim = size(),
  swa_num_attention_heads = size(), swa_num_key_value_heads = size(), swa_head_dim = size(),
  sliding_window_size = size(), d_rel = size(), rel_extent = size(),
  log_scaling_n_floor = size(), log_scaling_alpha = { type = "number", min = 0, required = true },
  layer_types = { type = "table" }, conv_kernel_size = { type = "integer", min = 1, max = 64,
                                                         required = true },
  hidden_act = experts.only "silu", moe_intermediate_size = size(), n_routed_experts = size(),
  num_experts_per_tok = size(), route_scale = positive, scoring_func = experts.only "sigmoid",
  qk_l2_clip_threshold = positive, rel_l2_clip_threshold = positive,
  n_layers_per_attn_res_block = size(), mlp_gate_softcap = positive, mlp_up_softcap = positive,
  final_logit_softcapping = positive, tie_word_embeddings = common.no,
}

-- Whether a layer, from 0, sees everything.
local function is_full(c, i)
  if not c.layer_types then return (i + 1) % 6 == 0 end
  return c.layer_types[i + 1] == "hybrid"
end

local function attends(c, full)
  local s = full and "" or "swa_"
  return relative_attention {
    heads = c[s .. "num_attention_heads"], kv_heads = c[s .. "num_key_value_heads"],
    head_dim = c[s .. "head_dim"], window = not full and c.sliding_window_size or nil,
    extent = full and c.rel_extent or c.sliding_window_size, relative_dim = c.d_rel,
    conv = c.conv_kernel_size, clip = c.qk_l2_clip_threshold,
    relative_clip = c.rel_l2_clip_threshold, floor = full and c.log_scaling_n_floor or nil,
    growth = full and c.log_scaling_alpha or nil,
  }
end

-- Rows of x in groups of 'taps', each group's from its last to its first, as columns if 'turned':
-- their first tap is the token's own, ours the last.
local function turned(x, groups, taps, columns)
  local parts = {}
  for g = 0, groups - 1 do
    for k = taps, 1, -1 do
      local row = slice(x, 1, g * taps + k, 1)
      parts[#parts + 1] = columns and transpose(row, { 2, 1 }) or row
    end
  end
  return concat(parts, columns and 2 or 1)
end

local matrices = { q = "wq_du", k = "wk_dv", v = "wv_dv", relative = "wr_du", o = "wo_ud",
                   gate = "gate_attn", sink = "attn_sink_proj" }

local function attention_tensors(c, out, i, full, ours, theirs)
  local a, s, taps = theirs .. "attn.", full and "" or "swa_", c.conv_kernel_size
  local groups, d = c[s .. "num_key_value_heads"], c[s .. "head_dim"]
  for mine, name in pairs(matrices) do out[ours .. mine .. ".weight"] = a .. name .. ".weight" end
  out[ours .. "q_clip.scale"] = a .. "q_l2_clip.scale"
  out[ours .. "relative_clip.scale"] = a .. "rel_l2_clip.scale"
  out[ours .. "distance.weight"] = transpose(a .. "rel_logits_proj.proj", { 2, 1 })
  for _, x in ipairs { "k", "v" } do
    local mine, name = ours .. x .. "_conv", a .. x .. "_sconv"
    if full then
      out[mine .. ".weight"] = turned(name .. ".static_w", 1, taps, true)
      out[mine .. ".taps.weight"] = turned(name .. ".weight_proj", groups, taps)
    else
      out[mine .. ".weight"] = reshape(name .. ".weight", { groups * d, taps })
    end
  end
  for k, x in ipairs(full and { "q", "k", "v" } or {}) do
    out[ours .. "norm." .. x .. ".weight"] = theirs .. x .. "_input_norm.weight"
    if i > 0 then
      out[ours .. "residual." .. x .. ".query"] = reshape(
        slice("model.llm.attn_res.attn_queries." .. i - 1, 1, k, 1), { c.hidden_size })
    end
  end
  if full then return end
  out[ours .. "norm.weight"] = theirs .. "attn_norm.weight"
  if i > 0 then out[ours .. "residual.query"] = "model.llm.attn_res.attn_queries." .. i - 1 end
end

-- Gates and values of experts alternate, row by row.
local function expert_tensors(c, out, ours, theirs)
  local F, D = c.moe_intermediate_size, c.hidden_size
  for e = 0, c.n_routed_experts - 1 do
    local mine = ours .. "experts." .. e .. "."
    local both = reshape(slice(theirs .. "mlp.experts.w13_weight", 1, e + 1, 1), { F, 2, D })
    out[mine .. "gate.weight"] = reshape(slice(both, 2, 1, 1), { F, D })
    out[mine .. "up.weight"] = reshape(slice(both, 2, 2, 1), { F, D })
    out[mine .. "down.weight"] = reshape(slice(theirs .. "mlp.experts.w2_weight", 1, e + 1, 1),
      { D, F })
  end
  out[ours .. "router.weight"] = theirs .. "mlp.gate.weight"
  out[ours .. "router.balance_bias"] = theirs .. "mlp.gate.bias"
  out[ours .. "norm.weight"] = theirs .. "mlp_norm.weight"
end

local function layer_tensors(c, out, i)
  local ours, theirs = "layers." .. i .. ".", "model.llm.layers." .. i .. "."
  attention_tensors(c, out, i, is_full(c, i), ours .. "attention.", theirs)
  expert_tensors(c, out, ours .. "mlp.", theirs)
  out[ours .. "mlp.residual.query"] = "model.llm.attn_res.mlp_queries." .. i
  for mine, name in pairs { attention = "attn_sconv", mlp = "mlp_sconv" } do
    out[ours .. mine .. ".out_conv.weight"] = reshape(theirs .. name .. ".weight",
      { c.hidden_size, c.conv_kernel_size })
  end
end

return function(config)
  local c = class.fields("inkling2_text", config, known, experts.without_effect,
    { "tie_word_embeddings" })
  local vocab = c.unpadded_vocab_size or c.vocab_size
  if vocab > c.vocab_size then
    refuse("unpadded_vocab_size", "at most vocab_size = " .. c.vocab_size, tostring(vocab))
  end
  experts.by_layer(c, "layer_types", { "hybrid", "hybrid_sliding" })
  experts.check_top(c, c.n_routed_experts)
  if c.num_key_value_heads * c.conv_kernel_size > numbers then
    refuse("num_key_value_heads", "at most as many heads as there are numbers in the tensors, "
      .. numbers, tostring(c.num_key_value_heads))
  end
  common.divides(c, "num_key_value_heads", "num_attention_heads")
  common.divides(c, "swa_num_key_value_heads", "swa_num_attention_heads")
  local chosen = moe {
    experts = c.n_routed_experts, top = c.num_experts_per_tok, hidden = c.moe_intermediate_size,
    scale = c.route_scale, gate_cap = c.mlp_gate_softcap, up_cap = c.mlp_up_softcap,
    out_conv = c.conv_kernel_size,
  }
  local sees, near = named("full", layer { attends(c, true), chosen }),
    named("near", layer { attends(c, false), chosen })
  local out, layers = {}, {}
  for i = 0, c.num_hidden_layers - 1 do
    layers[i + 1] = is_full(c, i) and sees or near
    layer_tensors(c, out, i)
  end
  out["embed.weight"] = slice("model.llm.embed.weight", 1, 1, vocab)
  out["head.weight"] = slice("model.llm.unembed.weight", 1, 1, vocab)
  out["embed.norm.weight"] = "model.llm.embed_norm.weight"
  out["final_norm.weight"] = "model.llm.norm.weight"
  out["readout.residual.query"] = "model.llm.attn_res.output_query"
  return { tensors = out, spec = model {
    vocab = vocab, context = experts.either(c, "max_position_embeddings", "model_max_length",
      class.default("inkling2_text", "max_position_embeddings")),
    dim = c.hidden_size, embedding = { tied = false, norm = true },
    logits = { softcap = c.final_logit_softcapping }, norm = rmsnorm { eps = c.rms_norm_eps },
    residual = attnres { block_size = 2 * c.n_layers_per_attn_res_block, key_gain = false,
                         value_norm = true, scale = c.hidden_size ^ -0.5, eps = 1e-6 },
    layers = layers,
  } }
end
