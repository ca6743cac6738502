-- SPDX-License-Identifier: MIT
-- Qwen4ExpForCausalLM, the text model: the gated residual of several streams, gated delta nets,
-- gated attention, experts beside a gated shared one.  Indexers choose indexer_budget keys of each
-- token's past: up to so many tokens that is all of them, and the context of what this becomes goes
-- no further.  Models with embeddings of n-grams (ple_layer_ids) are refused.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local size = common.size

local function known()
  return common.known {
    intermediate_size = false, mlp_bias = false, attention_bias = experts.only(false),
    head_dim = size(), num_key_value_heads = size(), moe_intermediate_size = size(),
    shared_expert_intermediate_size = size(), num_experts_per_tok = size(), num_experts = size(),
    norm_topk_prob = common.yes, layer_types = { type = "table" },
    full_attention_interval = size(4),
    linear_conv_kernel_dim = { type = "integer", min = 1, max = 64, required = true },
    linear_key_head_dim = size(), linear_value_head_dim = size(),
    linear_num_key_heads = size(), linear_num_value_heads = size(),
    hc_count = { type = "integer", min = 2, max = 256, required = true }, hc_lowrank = size(),
    ple_layer_ids = { type = "table", default = {} }, indexer_budget = common.optional,
    output_gate_type = { one_of = { "silu", "sigmoid" } },
  }
end

local without = {
  "intermediate_size", "ple_embed_dim", "ple_conv_kernel_size", "ngram_size", "heads_per_ngram",
  "ngram_vocab_size_base", "make_ngram_vocab_size_divisible_by", "seed", "split_ngram_parts",
  "indexer_n_heads", "indexer_kv_heads", "indexer_head_dim", "indexer_compress_ratio",
  "number_of_conv_states", table.unpack(experts.without_effect),
}

-- Places of pictures do not matter to text: its three are one.
local function rope_of(c)
  local p = {}
  for name, value in pairs(c.rope_parameters or c.rope_scaling or {}) do
    if name ~= "mrope_section" and name ~= "mrope_interleaved" then p[name] = value end
  end
  return common.rope({ rope_parameters = p, rope_theta = c.rope_theta,
                       partial_rotary_factor = c.partial_rotary_factor,
                       max_position_embeddings = c.max_position_embeddings },
    { head_dim = c.head_dim, partial = true })
end

-- Queries and gates lie by heads in one matrix.
local function attention_tensors(c, out, ours, theirs)
  local H, d = c.num_attention_heads, c.head_dim
  local both = reshape(theirs .. "q_proj.weight", { H, 2 * d, c.hidden_size })
  out[ours .. "q.weight"] = reshape(slice(both, 2, 1, d), { H * d, c.hidden_size })
  out[ours .. "gate.weight"] = reshape(slice(both, 2, d + 1, d), { H * d, c.hidden_size })
  for _, name in ipairs { "k", "v", "o" } do
    out[ours .. name .. ".weight"] = theirs .. name .. "_proj.weight"
  end
  for _, name in ipairs { "q_norm", "k_norm" } do
    out[ours .. name .. ".weight"] = plus(theirs .. name .. ".weight", 1)
  end
end

local function delta_tensors(c, out, ours, theirs)
  local first, taps = 1, c.linear_conv_kernel_dim
  local keys = c.linear_num_key_heads * c.linear_key_head_dim
  for _, part in ipairs { { "q", keys }, { "k", keys },
                          { "v", c.linear_num_value_heads * c.linear_value_head_dim } } do
    local name, n = part[1], part[2]
    out[ours .. name .. ".weight"] = slice(theirs .. "in_proj_qkv.weight", 1, first, n)
    out[ours .. name .. "_conv.weight"] = reshape(
      slice(theirs .. "conv1d.weight", 1, first, n), { n, taps })
    first = first + n
  end
  for mine, name in pairs { gate = "in_proj_z", beta = "in_proj_b", decay = "in_proj_a",
                            o = "out_proj", out_norm = "norm" } do
    out[ours .. mine .. ".weight"] = theirs .. name .. ".weight"
  end
  out[ours .. "decay_bias"], out[ours .. "decay_log"] = theirs .. "dt_bias", theirs .. "A_log"
end

local function connection(c, out, ours, theirs, inject)
  out[ours .. "norm.weight"] = reshape(theirs .. "hc_norm.weight", { c.hc_count, c.hidden_size })
  out[ours .. "gate_down.weight"] = theirs .. "input_mix_weight_down.weight"
  out[ours .. "gate_up.weight"] = theirs .. "input_mix_weight_up.weight"
  if inject then out[ours .. "inject.weight"] = theirs .. "block_inject_weight.weight" end
end

local function layer_tensors(c, tensors, out, ours, theirs, linear)
  if linear then
    delta_tensors(c, out, ours .. "attention.", theirs .. "linear_attn.")
  else
    attention_tensors(c, out, ours .. "attention.", theirs .. "self_attn.")
  end
  experts.all(out, tensors, ours .. "mlp", theirs .. "mlp", { experts = c.num_experts,
    hidden = c.moe_intermediate_size, dim = c.hidden_size })
  experts.gated(out, ours .. "mlp.shared", theirs .. "mlp.shared_expert")
  out[ours .. "mlp.shared.share.weight"] = theirs .. "mlp.shared_expert_gate.weight"
  connection(c, out, ours .. "attention.residual.", theirs .. "attn_hyper_connection.", true)
  connection(c, out, ours .. "mlp.residual.", theirs .. "mlp_hyper_connection.", true)
end

local function parts_of(c)
  return {
    linear = gated_delta { heads = c.linear_num_key_heads, value_heads = c.linear_num_value_heads,
      head_dim = c.linear_key_head_dim, value_dim = c.linear_value_head_dim,
      conv = c.linear_conv_kernel_dim,
      gate = c.output_gate_type == "sigmoid" and "sigmoid" or nil },
    full = attention { heads = c.num_attention_heads, kv_heads = c.num_key_value_heads,
      head_dim = c.head_dim, qk_norm = true, rope = rope_of(c), gate = {} },
    some = moe { experts = c.num_experts, activation = c.activation, top = c.num_experts_per_tok,
      hidden = c.moe_intermediate_size, score = "softmax", normalize = c.norm_topk_prob,
      balance_bias = false, shared_hidden = c.shared_expert_intermediate_size,
      shared_gate = true },
  }
end

return function(config, tensors)
  local c = class.fields("qwen4_exp_text", config, known(), without,
    { "full_attention_interval" })
  experts.take_activation(c)
  experts.check_top(c, c.num_experts)
  common.divides(c, "num_key_value_heads", "num_attention_heads")
  common.divides(c, "linear_num_key_heads", "linear_num_value_heads")
  if #c.ple_layer_ids > 0 then
    refuse("ple_layer_ids", "an empty list: embeddings of n-grams are not in this version",
      tostring(#c.ple_layer_ids) .. " layers")
  end
  local types = experts.by_layer(c, "layer_types",
    { "linear_attention", "indexed_attention", "full_attention" }, function(i)
      return (i + 1) % c.full_attention_interval ~= 0 and "linear_attention" or "indexed_attention"
    end)
  local parts, layers = parts_of(c), {}
  for i, name in ipairs(types) do
    local kind = name == "linear_attention" and "linear" or "full"
    layers[i] = named(kind, layer { parts[kind], parts.some })
  end
  local out = experts.decoder(c, tensors, { attention = false, norms = {},
    layer = function(out, i, ours, theirs)
      layer_tensors(c, tensors, out, ours, theirs, types[i + 1] == "linear_attention")
    end })
  out["final_norm.weight"] = nil
  connection(c, out, "readout.residual.", "model.hyper_connection_mixer.", false)
  local result = common.result(c, tensors, out, experts.model(c, layers, {
    context = math.min(common.context(c), c.indexer_budget or math.huge),
    final_norm = false, residual = gated_residual { streams = c.hc_count, rank = c.hc_lowrank },
  }))
  experts.leave(result, "model.layers.*.self_attn.indexer.")
  return result
end
