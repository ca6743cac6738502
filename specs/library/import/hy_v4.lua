-- SPDX-License-Identifier: MIT
-- HYV4ForCausalLM: hyper-connections that do not mix, latent attention with sinks and a gate.  Its
-- indexers choose index_topk keys of each token's past: up to so many tokens that is all of them,
-- and the context of what this becomes goes no further.
local common, class, experts = builtin "common", builtin "class", builtin "experts"
local positive = { type = "number", above = 0, required = true }

local function known()
  return common.known(experts.latent_fields(experts.router_fields {
    mlp_bias = false, num_key_value_heads = false, head_dim = false,
    n_routed_experts = common.size(), n_shared_experts = common.size(),
    mlp_layer_types = { type = "table" }, layer_types = { type = "table" },
    index_topk = common.size(), hc_mult = { type = "integer", min = 1, max = 256, required = true },
    hc_magnitude = positive, hc_eps = { type = "number", min = 0, max = 1, required = true },
    swiglu_limit = positive,
  }))
end

-- Tools write gates as linear_gate, checkpoints have gate_proj.
local function gated(out, tensors, ours, theirs)
  local gate = tensors[theirs .. ".linear_gate.weight"] and "linear_gate" or "gate_proj"
  experts.gated(out, ours, theirs, { gate, "up_proj", "down_proj" })
end

local function layer_tensors(c, tensors, out, ours, theirs, sparse)
  experts.latent_tensors(c, out, ours .. "attention", theirs .. "self_attn")
  local gate = theirs .. "self_attn.linear_gate.weight"
  out[ours .. "attention.gate.weight"] = tensors[gate] and gate
    or theirs .. "self_attn.gate_proj.weight"
  out[ours .. "attention.sinks"] = theirs .. "self_attn.learnable_sink_param"
  common.connection(out, ours .. "attention", theirs .. "hc_pre.hc_attn_layer.hc_")
  common.connection(out, ours .. "mlp", theirs .. "hc_pre.hc_mlp_layer.hc_")
  if not sparse then return gated(out, tensors, ours .. "mlp", theirs .. "mlp") end
  experts.all(out, tensors, ours .. "mlp", theirs .. "mlp", { bias = true,
    experts = c.n_routed_experts, hidden = c.moe_intermediate_size, dim = c.hidden_size })
  gated(out, tensors, ours .. "mlp.shared", theirs .. "mlp.shared_experts")
end

return function(config, tensors)
  local without = { "head_dim", "index_head_dim", "index_n_heads", "indexer_types",
                    "learnable_sink_init", table.unpack(experts.without_effect) }
  for _, name in ipairs(experts.latent_without_effect) do without[#without + 1] = name end
  local c = class.fields("hy_v4", config, known(), without, { "moe_layer_freq" })
  experts.expect_silu(c)
  experts.by_layer(c, "layer_types", { "indexed_attention" })
  local kinds = experts.by_layer(c, "mlp_layer_types", { "sparse", "dense" },
    function(i) return i < 1 and "dense" or "sparse" end)
  local rope = common.rope(c, { head_dim = c.qk_rope_head_dim, field = "qk_rope_head_dim" })
  local attends = experts.latent(c, rope,
    { sinks = true, gate = {} })
  local some = experts.grouped(c, c.n_routed_experts, c.n_shared_experts,
    { limit = c.swiglu_limit })
  local layers = {}
  for i, kind in ipairs(kinds) do
    layers[i] = named(kind, layer { attends,
      kind == "sparse" and some or mlp { hidden = c.intermediate_size } })
  end
  local out = experts.decoder(c, tensors, { attention = false,
    layer = function(out, i, ours, theirs)
      layer_tensors(c, tensors, out, ours, theirs, kinds[i + 1] == "sparse")
    end })
  common.connection(out, "readout", "model.hc_pre.hc_head.hc_head_")
  local result = common.result(c, tensors, out, experts.model(c, layers, {
    context = math.min(common.context(c), c.index_topk),
    residual = hyper { streams = c.hc_mult, mix = false, magnitude = c.hc_magnitude,
                       eps = c.hc_eps },
  }))
  experts.leave(result, "model.layers.*.self_attn.indexer.")
  return result
end
