-- SPDX-License-Identifier: MIT
-- Glm5NextForConditionalGeneration, its text model: manifold-constrained hyper-connections, Kimi
-- Delta Attention with a floor of decays, latent attention without positions.  Indexers choose
-- index_topk keys of each token's past: up to so many tokens that is all of them, and the context
-- of what this becomes goes no further.  Pictures are left out.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local list = { type = "table" }
local share = { type = "number", min = 0, max = 1, required = true }

local function known()
  return common.known(experts.latent_fields(experts.router_fields {
    mlp_bias = false, num_key_value_heads = false, head_dim = false, rope_theta = false,
    rope_scaling = false, rope_parameters = false, partial_rotary_factor = false,
    qk_rope_head_dim = experts.only(0, true), q_lora_rank = common.size(),
    n_routed_experts = common.size(), n_shared_experts = common.size(),
    layer_types = list, mlp_layer_types = list, index_topk = common.size(),
    index_kpool_always_select_tail = experts.only(true),
    hc_mult = { type = "integer", min = 1, max = 256, required = true }, hc_eps = share,
    hc_sinkhorn_iters = { type = "integer", min = 1, max = 1000, required = true },
    swiglu_limit = { type = "number", above = 0, required = true },
    linear_head_dim = common.size(), linear_num_heads = common.size(),
    linear_conv_kernel_dim = { type = "integer", min = 1, max = 64, required = true },
    linear_lower_bound = { type = "number" },
  }))
end

local function text_of(config)
  local outer = { "vision_config", "image_token_id", "video_token_id", "image_start_token_id",
                  "image_end_token_id", "video_start_token_id", "video_end_token_id" }
  local without = { "head_dim", "index_head_dim", "index_n_heads", "index_kpool", "indexer_types",
                    table.unpack(experts.without_effect) }
  for _, name in ipairs(experts.latent_without_effect) do without[#without + 1] = name end
  if config.text_config == nil or config.text_config == null then
    for _, name in ipairs(outer) do without[#without + 1] = name end
    return class.fields("glm5_next", config, known(), without, { "moe_layer_freq" })
  end
  fields(config, { text_config = { type = "object" }, tie_word_embeddings = common.no }, outer)
  local inner = {}
  for name, value in pairs(config.text_config) do inner[name] = value end
  inner.tie_word_embeddings = config.tie_word_embeddings
  return class.fields("glm5_next", inner, known(), without, { "moe_layer_freq" },
    "text_config")
end

-- The sublayers that layers are made of, and the sizes of the delta attention.
local function parts_of(c)
  local o = { heads = c.linear_num_heads, head_dim = c.linear_head_dim,
              conv = c.linear_conv_kernel_dim }
  if c.linear_lower_bound and c.linear_lower_bound >= 0 then
    refuse("linear_lower_bound", "a number below 0 or null", tostring(c.linear_lower_bound))
  end
  return {
    linear_attention = kda { heads = o.heads, head_dim = o.head_dim, gate_rank = o.head_dim,
                             conv = o.conv, floor = c.linear_lower_bound },
    indexed_attention = experts.latent(c, nil, { eps = c.rms_norm_eps }),
    dense = mlp { hidden = c.intermediate_size, limit = c.swiglu_limit },
    sparse = experts.grouped(c, c.n_routed_experts, c.n_shared_experts,
      { limit = c.swiglu_limit, shared_limit = c.swiglu_limit }),
  }, o
end

local short = { linear_attention = "delta", indexed_attention = "latent" }

return function(config, tensors)
  local c = text_of(config)
  experts.expect_silu(c)
  for i, name in ipairs(c.layer_types or {}) do
    if name == "full_attention" then c.layer_types[i] = "indexed_attention" end
  end
  local types = experts.by_layer(c, "layer_types", { "linear_attention", "indexed_attention" },
    function(i) return i % 4 == 3 and "indexed_attention" or "linear_attention" end)
  local kinds = experts.by_layer(c, "mlp_layer_types", { "sparse", "dense" },
    function(i) return i < 3 and "dense" or "sparse" end)
  local parts, delta = parts_of(c)
  local layers = {}
  for i, kind in ipairs(kinds) do
    layers[i] = named(short[types[i]] .. "_" .. kind, layer { parts[types[i]], parts[kind] })
  end
  local out = experts.decoder(c, tensors, {
    attention = false, prefix = "model.language_model.",
    layer = function(out, i, ours, theirs)
      if types[i + 1] == "linear_attention" then
        experts.delta_tensors(out, delta, ours .. "attention", theirs .. "self_attn")
      else
        experts.latent_tensors(c, out, ours .. "attention", theirs .. "self_attn")
      end
      common.connection(out, ours .. "attention", theirs .. "hc_attn_")
      common.connection(out, ours .. "mlp", theirs .. "hc_ffn_")
      if kinds[i + 1] == "dense" then
        return experts.gated(out, ours .. "mlp", theirs .. "mlp")
      end
      experts.all(out, tensors, ours .. "mlp", theirs .. "mlp", { bias = true,
        experts = c.n_routed_experts, hidden = c.moe_intermediate_size, dim = c.hidden_size })
      experts.gated(out, ours .. "mlp.shared", theirs .. "mlp.shared_experts")
    end })
  local result = common.result(c, tensors, out, experts.model(c, layers, {
    context = math.min(common.context(c), c.index_topk),
    residual = mhc { streams = c.hc_mult, iterations = c.hc_sinkhorn_iters, start = "softmax",
                     eps = c.hc_eps },
  }))
  experts.leave(result, "model.visual.")
  experts.leave(result, "model.language_model.layers.*.self_attn.indexer.")
  return result
end
