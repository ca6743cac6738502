-- SPDX-License-Identifier: MIT
-- KimiLinearForCausalLM: Kimi Delta Attention, latent attention without positions in some layers,
-- experts but for the first layers.  Its files have two generations of names for many fields.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local optional, flag = common.optional, { type = "boolean" }
local list = { type = "table" }
local groups = { type = "integer", min = 1, max = 65536 }

local function known()
  return common.known(experts.latent_fields {
    mlp_bias = false, num_key_value_heads = false, head_dim = false,
    rope_theta = false, rope_parameters = false, partial_rotary_factor = false,
    max_position_embeddings = optional, model_max_length = optional,
    num_experts = optional, num_local_experts = optional,
    num_experts_per_token = optional, num_experts_per_tok = optional,
    num_shared_experts = { type = "integer", min = 0, max = 1024 },
    n_shared_experts = { type = "integer", min = 0, max = 1024 },
    num_expert_group = groups, n_group = groups,
    topk_group = common.with(groups, { required = true }),
    moe_renormalize = flag, norm_topk_prob = flag, moe_intermediate_size = common.size(),
    routed_scaling_factor = { type = "number", above = 0, required = true },
    moe_layer_freq = experts.only(1), moe_router_activation_func = experts.only "sigmoid",
    topk_method = experts.only "noaux_tc", use_grouped_topk = experts.only(true),
    mla_use_nope = experts.only(true), num_nextn_predict_layers = experts.only(0),
    first_k_dense_replace = { type = "integer", min = 0, max = 10000, default = 1 },
    layer_types = list, mlp_layer_types = list, linear_attn_config = { type = "object" },
    linear_head_dim = optional, linear_num_heads = optional,
    linear_conv_kernel_dim = { type = "integer", min = 1, max = 64 },
  })
end

-- Of files that were written for the code of their folder.
local beside = {
  "first_k_dense_replace", "linear_attn_config", "mla_use_nope", "moe_layer_freq",
  "moe_router_activation_func", "num_nextn_predict_layers", "topk_method", "use_grouped_topk",
}

-- The fields that have two names, under one.
local function one_name(c)
  local function either(first, second, called)
    c[first] = experts.either(c, first, second, class.default("kimi_linear", called or second))
  end
  either("max_position_embeddings", "model_max_length")
  either("num_experts", "num_local_experts", "num_experts")
  either("num_experts_per_tok", "num_experts_per_token")
  either("n_shared_experts", "num_shared_experts")
  either("n_group", "num_expert_group")
  either("norm_topk_prob", "moe_renormalize")
  if c.rope_scaling then refuse("rope_scaling", "none: there are no positions", "one") end
end

-- Which layers, from 0, have latent attention; sizes of the others.  Lists of layers in
-- linear_attn_config count from 1.
local function attention_of(c)
  local given = c.linear_attn_config and fields(c.linear_attn_config, {
    head_dim = optional, num_heads = optional,
    short_conv_kernel_size = { type = "integer", min = 1, max = 64 },
    full_attn_layers = list, kda_layers = list,
  }, nil, "linear_attn_config") or {}
  local latent = {}
  local types = experts.by_layer(c, "layer_types", { "full_attention", "linear_attention" })
  for i = 0, c.num_hidden_layers - 1 do latent[i] = not types and i > 0 and i % 4 == 0 end
  if types then
    for i, name in ipairs(types) do
      latent[i - 1] = name == "full_attention"
    end
  elseif given.full_attn_layers and given.kda_layers then
    for i in pairs(latent) do latent[i] = false end
    for _, i in ipairs(given.full_attn_layers) do latent[i - 1] = true end
  end
  return latent, {
    heads = given.num_heads or c.linear_num_heads, head_dim = given.head_dim or c.linear_head_dim,
    conv = given.short_conv_kernel_size or c.linear_conv_kernel_dim,
  }
end

local function mlp_tensors(c, tensors, out, ours, theirs, sparse)
  local kind = tensors[theirs .. "mlp.gate_proj.weight"] and "mlp" or "block_sparse_moe"
  if not sparse then return experts.gated(out, ours .. "mlp", theirs .. kind) end
  experts.all(out, tensors, ours .. "mlp", theirs .. "block_sparse_moe",
    { experts = c.num_experts, bias = true, names = { "w1", "w3", "w2" } })
  if c.n_shared_experts > 0 then
    experts.gated(out, ours .. "mlp.shared", theirs .. "block_sparse_moe.shared_experts")
  end
end

return function(config, tensors)
  local without = { "head_dim", "rope_theta", table.unpack(experts.without_effect) }
  for _, name in ipairs(experts.latent_without_effect) do without[#without + 1] = name end
  local c = class.fields("kimi_linear", config, known(), without, beside)
  one_name(c)
  experts.take_activation(c)
  -- the class ties nothing, whatever the field says
  if tensors["lm_head.weight"] then c.tie_word_embeddings = false end
  local latent, o = attention_of(c)
  local kinds = experts.by_layer(c, "mlp_layer_types", { "sparse", "dense" })
  local layers, sparse = {}, {}
  local feed = mlp { hidden = c.intermediate_size, activation = c.activation }
  local attends, delta = experts.latent(c), kda { heads = o.heads, head_dim = o.head_dim,
    gate_rank = o.head_dim, conv = o.conv }
  local some = experts.grouped(c, c.num_experts, c.n_shared_experts)
  for i = 0, c.num_hidden_layers - 1 do
    sparse[i] = i >= c.first_k_dense_replace
    if not latent[i] then experts.expect_silu(c) end -- of the convolutions, too
    if kinds then sparse[i] = kinds[i + 1] == "sparse" end
    layers[i + 1] = named((latent[i] and "latent" or "delta") .. (sparse[i] and "" or "_dense"),
      layer { latent[i] and attends or delta,
              sparse[i] and some or feed })
  end
  local out = experts.decoder(c, tensors, { attention = false,
    layer = function(out, i, ours, theirs)
      if latent[i] then
        experts.latent_tensors(c, out, ours .. "attention", theirs .. "self_attn")
      else
        experts.delta_tensors(out, o, ours .. "attention", theirs .. "self_attn")
      end
      mlp_tensors(c, tensors, out, ours, theirs, sparse[i])
    end })
  return common.result(c, tensors, out, experts.model(c, layers))
end
