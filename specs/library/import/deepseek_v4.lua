-- SPDX-License-Identifier: MIT
-- DeepseekV4ForCausalLM: manifold-constrained hyper-connections with a learned end, attention to
-- one head that is key and value, beside a window to keys made of several tokens, experts that a
-- table of the vocabulary chooses in the first layers.  Indexers choose index_topk of the keys made
-- of compress_rates.compressed_sparse_attention tokens: up to so many that is all of them, and the
-- context of what this becomes goes no further.  Modules that predict further tokens are left out.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local positive = { type = "number", above = 0, required = true }
local list, object = { type = "table" }, { type = "object" }
local share = { type = "number", min = 0, max = 1, required = true }

local function known()
  return common.known {
    intermediate_size = common.optional, compress_rope_theta = common.rope_fields.rope_theta,
    qk_rope_head_dim = common.optional,
    mlp_bias = common.never, attention_bias = common.never, head_dim = common.size(),
    num_key_value_heads = experts.only(1), q_lora_rank = common.size(),
    moe_intermediate_size = common.optional, num_experts_per_tok = common.size(),
    n_routed_experts = common.optional, num_local_experts = common.optional,
    n_shared_experts = experts.only(1),
    scoring_func = { type = "string", one_of = { "sqrtsoftplus", "sigmoid" },
                     required = true },
    routed_scaling_factor = positive, swiglu_limit = positive,
    layer_types = list, mlp_layer_types = list, compress_rates = object,
    sliding_window = common.size(), o_groups = common.size(), o_lora_rank = common.size(),
    index_topk = common.size(),
    hc_mult = { type = "integer", min = 1, max = 256, required = true }, hc_eps = share,
    hc_sinkhorn_iters = { type = "integer", min = 1, max = 1000, required = true },
  }
end

-- norm_topk_prob is not looked at there: chosen scores are always divided by their sum.
local without = {
  "index_head_dim", "index_n_heads", "norm_topk_prob",
  "num_nextn_predict_layers", table.unpack(experts.without_effect),
}

local sparse, heavy = "compressed_sparse_attention", "heavily_compressed_attention"

local function rate_of(c, kind)
  local rate = c.compress_rates[kind]
  if math.type(rate) ~= "integer" or rate < 2 or rate > 512 then
    refuse("compress_rates." .. kind, "an integer from 2 to 512", tostring(rate))
  end
  return rate
end

-- Both ropes by name, where settings are nested so, with what a nested one does not say; else
-- settings are those of the layers that compress, and their theta is compress_rope_theta.
local function nest_ropes(c)
  local given, share = common.rope_given(c), c.partial_rotary_factor
  local main, compress = given.main, given.compress
  if type(main) == "table" and type(compress) == "table" then
    common.check_nested(given, "rope_parameters", { "main", "compress" })
    local own = { rope_theta = c.rope_theta, partial_rotary_factor = share }
    for _, p in ipairs { main, compress } do
      if p.partial_rotary_factor == nil and not share then
        refuse("partial_rotary_factor", "what of each head turns, a number", "none")
      end
    end
    return { main = common.with(own, main), compress = common.with(own, compress) }
  end
  for _, name in ipairs(main == nil and compress == nil and {} or { "main", "compress" }) do
    local where = "rope_parameters." .. name
    if given[name] == nil then
      refuse(where, "an object", "one of the two ropes without the other")
    elseif type(given[name]) ~= "table" then
      fields(given[name], {}, nil, where) -- which refuses it
    end
  end
  if not share then
    share = c.qk_rope_head_dim and c.qk_rope_head_dim / c.head_dim or 64 / 512
  end
  compress = common.with(given, { rope_theta = c.compress_rope_theta,
                                  partial_rotary_factor = share })
  local way = compress.rope_type or compress.type
  if way == "yarn" and compress.attention_factor == nil then compress.attention_factor = 1 end
  return { main = { rope_theta = c.rope_theta, partial_rotary_factor = share },
           compress = compress }
end

local function rope_of(c, name)
  local rope = common.rope({ rope_parameters = c.ropes,
                             max_position_embeddings = c.max_position_embeddings },
    { head_dim = c.head_dim, layer_type = name, partial = true })
  rope.style = "interleaved"
  return rope
end

local function attends(c, kind)
  local far = kind ~= "sliding_attention"
  return shared_attention {
    heads = c.num_attention_heads, head_dim = c.head_dim, q_latent = c.q_lora_rank,
    out_groups = c.o_groups, out_rank = c.o_lora_rank, window = common.window(c, c.sliding_window),
    rope = rope_of(c, far and "compress" or "main"),
    compress = far and { rate = rate_of(c, kind), overlap = kind == sparse or nil } or nil,
  }
end

local scores = { sqrtsoftplus = "sqrt_softplus", sigmoid = "sigmoid" }

local function chooses(c, kind)
  return moe {
    experts = c.n_routed_experts, top = c.num_experts_per_tok, hidden = c.moe_intermediate_size,
    activation = c.activation, score = scores[c.scoring_func], shared = 1,
    scale = c.routed_scaling_factor,
    limit = c.swiglu_limit, shared_limit = c.swiglu_limit, by_token = kind == "hash_moe" or nil,
  }
end

-- Both parts of what projections give, where keys are made of tokens of two windows.
local function compressor(c, out, kind, ours, theirs)
  local d, from = c.head_dim, theirs .. "compressor."
  local function part(mine, first)
    local function rows(name) return first and slice(name, 1, first, d) or name end
    local bias = from .. "ape"
    out[ours .. mine .. ".value.weight"] = rows(from .. "wkv.weight")
    out[ours .. mine .. ".gate.weight"] = rows(from .. "wgate.weight")
    out[ours .. mine .. ".bias"] = first and slice(bias, 2, first, d) or bias
  end
  if kind == sparse then
    part("compressed_before", 1)
    part("compressed", d + 1)
  else
    part "compressed"
  end
  out[ours .. "compressed_norm.weight"] = from .. "norm.weight"
end

local function attention_tensors(c, out, kind, ours, theirs)
  for mine, name in pairs { q_down = "wq_a", q_norm = "q_norm", q_up = "wq_b", kv = "wkv",
                            kv_norm = "norm", o = "wo_b" } do
    out[ours .. mine .. ".weight"] = theirs .. name .. ".weight"
  end
  out[ours .. "sinks"] = theirs .. "attn_sink"
  out[ours .. "out_down.weight"] = reshape(theirs .. "wo_a.weight",
    { c.o_groups, c.o_lora_rank, c.num_attention_heads * c.head_dim // c.o_groups })
  if kind ~= "sliding_attention" then compressor(c, out, kind, ours, theirs) end
end

local function mlp_tensors(c, out, kind, ours, theirs)
  local names = { "w1", "w3", "w2" }
  out[ours .. "router.weight"] = theirs .. "gate.weight"
  if kind == "hash_moe" then
    out[ours .. "router.table"] = theirs .. "gate.tid2eid"
  else
    out[ours .. "router.balance_bias"] = theirs .. "gate.bias"
  end
  for e = 0, c.n_routed_experts - 1 do
    experts.gated(out, ours .. "experts." .. e, theirs .. "experts." .. e, names)
  end
  experts.gated(out, ours .. "shared", theirs .. "shared_experts", names)
end

return function(config, tensors)
  local c = class.fields("deepseek_v4", config, known(), without, { "qk_rope_head_dim" })
  for _, names in ipairs { { "n_routed_experts", "num_local_experts" },
                           { "moe_intermediate_size", "intermediate_size" } } do
    experts.either(c, names[1], names[2], class.default("deepseek_v4", names[1]))
  end
  experts.take_activation(c)
  fields(c.compress_rates or {}, { [sparse] = {}, [heavy] = {} }, nil, "compress_rates")
  c.compress_rates = c.compress_rates or { [sparse] = 4, [heavy] = 128 }
  c.ropes = nest_ropes(c)
  local types = experts.by_layer(c, "layer_types", { "sliding_attention", sparse, heavy },
    function(i) return i >= 2 and i % 2 == 1 and sparse or heavy end)
  local kinds = experts.by_layer(c, "mlp_layer_types", { "hash_moe", "moe" },
    function(i) return i < 3 and "hash_moe" or "moe" end)
  common.divides(c, "o_groups", "num_attention_heads")
  experts.check_top(c, c.n_routed_experts)
  local layers, context = {}, common.context(c)
  for i, kind in ipairs(types) do
    layers[i] = named(kind .. "_" .. kinds[i], layer { attends(c, kind), chooses(c, kinds[i]) })
    if kind == sparse then
      local rate = rate_of(c, kind)
      context = math.min(context, c.index_topk * rate + rate - 1)
    end
  end
  local out = experts.decoder(c, tensors, { attention = false,
    norms = { attn_norm = "attention.norm", ffn_norm = "mlp.norm" },
    layer = function(out, i, ours, theirs)
      attention_tensors(c, out, types[i + 1], ours .. "attention.", theirs .. "attn.")
      mlp_tensors(c, out, kinds[i + 1], ours .. "mlp.", theirs .. "ffn.")
      common.connection(out, ours .. "attention", theirs .. "hc_attn_")
      common.connection(out, ours .. "mlp", theirs .. "hc_ffn_")
    end })
  common.connection(out, "readout", "model.hc_head.hc_")
  local result = common.result(c, tensors, out, experts.model(c, layers, {
    context = context,
    residual = mhc { streams = c.hc_mult, iterations = c.hc_sinkhorn_iters, start = "softmax",
                     eps = c.hc_eps, head = "learned" },
  }))
  if out["head.weight"] and tensors["head.weight"] then out["head.weight"] = "head.weight" end
  experts.leave(result, "model.layers.*.attn.indexer.")
  experts.leave(result, "model.layers.*.attn.compressor.indexer.")
  experts.leave(result, "mtp.")
  return result
end
