-- SPDX-License-Identifier: MIT
-- What importers of models with experts and with latent attention share.
local common = builtin "common"
local experts = {}

-- A field that may say one thing only; 'required' where it must.
function experts.only(value, required)
  return { one_of = { value }, default = not required and value or nil, required = required }
end

-- What fields of auxiliary losses and of routers in training are called: no effect on inference.
experts.without_effect = {
  "output_router_logits", "router_aux_loss_coef", "router_jitter_noise", "ep_size",
  "aux_loss_alpha", "seq_aux",
}

-- A field of two names, of which c has the first then: the one that is there, or both, which
-- experts.called tells, and not two values.
function experts.either(c, first, second, default)
  if c[first] ~= nil and c[second] ~= nil and c[first] ~= c[second] then
    refuse(second, tostring(c[first]) .. ", as " .. first .. " says", tostring(c[second]))
  end
  if c[first] == nil then
    c.called = c.called or {}
    c.called[first] = c[second] ~= nil and second or first .. " or " .. second
    c[first] = c[second]
    if c[first] == nil then c[first] = default end
    if c[first] == nil then refuse(c.called[first], "a positive integer", "none") end
  end
  return c[first]
end

-- The name that config.json has for a field.
function experts.called(c, name) return c.called and c.called[name] or name end

-- What config.json calls the number of experts.
local function count_name(c, count)
  for _, name in ipairs { "num_experts", "n_routed_experts", "num_local_experts" } do
    if c[name] == count then return experts.called(c, name) end
  end
end

-- The same as "num_experts = 4".
local function counted(c, count) return count_name(c, count) .. " = " .. count end

-- Refuses more experts than the folder can have.
function experts.check_count(c, count)
  if count > numbers // c.num_hidden_layers then
    refuse(count_name(c, count), "at most as many experts in " .. c.num_hidden_layers
      .. " layers as there are numbers in the tensors, " .. numbers, tostring(count))
  end
end

-- Refuses more experts of a token than there are, or than are in the groups that it takes.
function experts.check_top(c, count, most)
  experts.check_count(c, count)
  if c.num_experts_per_tok > (most or count) then
    refuse(experts.called(c, "num_experts_per_tok"), "at most " .. (most or count)
      .. ", the experts there are to choose from of " .. counted(c, count),
      tostring(c.num_experts_per_tok))
  end
end

-- A field that is a list of one of some words for each layer; where there is none, 'otherwise' of
-- each layer, from 0, or nil.
function experts.by_layer(c, name, words, otherwise)
  local list = c[name]
  if not list and not otherwise then return nil end
  if not list then return common.layers(c, function(i) return otherwise(i - 1) end) end
  if #list ~= c.num_hidden_layers then
    refuse(name, "one entry for each of num_hidden_layers = " .. c.num_hidden_layers,
      tostring(#list))
  end
  for _, found in ipairs(list) do
    local known = false
    for _, word in ipairs(words) do known = known or word == found end
    if not known then
      refuse(name, "'" .. table.concat(words, "' or '") .. "'",
        type(found) == "string" and "'" .. found .. "'" or "a " .. type(found))
    end
  end
  return list
end

-- What experts and MLPs are gated by: c.activation.
function experts.take_activation(c)
  c.activation = common.activation("hidden_act", c.hidden_act, true)
end

-- The same where experts have silu whatever the field says.
function experts.expect_silu(c)
  experts.take_activation(c)
  if c.activation ~= "swiglu" then refuse("hidden_act", "'silu'", "'" .. c.hidden_act .. "'") end
end

-- gate, up and down of one MLP; names: theirs, { "gate_proj", "up_proj", "down_proj" } by default.
function experts.gated(out, ours, theirs, names)
  names = names or { "gate_proj", "up_proj", "down_proj" }
  for i, name in ipairs { "gate", "up", "down" } do
    out[ours .. "." .. name .. ".weight"] = theirs .. "." .. names[i] .. ".weight"
  end
end

-- Tensors of a decoder with Llama's names but for its MLPs.  o: { qk_norm = whether there are norms
-- of queries and keys, norms = { theirs = "ours" } of a layer, attention = false: without its four
-- matrices, layer = function(out, i, ours, theirs): adds the others of layer i, from 0, prefix =
-- what their names begin with, "model." unless given }
function experts.decoder(c, tensors, o)
  local prefix = o.prefix or "model."
  local out = { ["embed.weight"] = prefix .. "embed_tokens.weight",
                ["final_norm.weight"] = prefix .. "norm.weight" }
  local norms = o.norms or { input_layernorm = "attention.norm",
                             post_attention_layernorm = "mlp.norm" }
  for i = 0, c.num_hidden_layers - 1 do
    local ours, theirs = "layers." .. i .. ".", prefix .. "layers." .. i .. "."
    for _, name in ipairs(o.attention == false and {} or { "q", "k", "v", "o" }) do
      common.linear(out, tensors, ours .. "attention." .. name,
        theirs .. "self_attn." .. name .. "_proj")
    end
    for name, norm in pairs(norms) do
      out[ours .. norm .. ".weight"] = theirs .. name .. ".weight"
    end
    for _, name in ipairs(o.qk_norm and { "q_norm", "k_norm" } or {}) do
      out[ours .. "attention." .. name .. ".weight"] = theirs .. "self_attn." .. name .. ".weight"
    end
    o.layer(out, i, ours, theirs)
  end
  return out
end

-- Tensors whose names begin so are left out; '*' stands for what is between two dots.
function experts.leave(result, prefix)
  local rest = "*"
  for _ = 1, 7 do
    table.insert(result.ignore, prefix .. rest)
    rest = rest .. ".*"
  end
end

-- A model with one norm before every sublayer; 'more': other fields of model.
function experts.model(c, layers, more)
  local o = {
    vocab = c.vocab_size, context = common.context(c), dim = c.hidden_size,
    embedding = { tied = c.tie_word_embeddings }, norm = rmsnorm { eps = c.rms_norm_eps },
    layers = layers,
  }
  for name, value in pairs(more or {}) do o[name] = value end
  return model(o)
end

-- A router and E experts, a tensor of the file each or all of a kind in one: gate_up_proj
-- [E, 2F, D], down_proj [E, D, F].
--   o: { experts = E, hidden = F, dim = D, bias = whether there is one, names = }
function experts.all(out, tensors, ours, theirs, o)
  out[ours .. ".router.weight"] = theirs .. ".gate.weight"
  if o.bias then
    out[ours .. ".router.balance_bias"] = theirs .. ".gate.e_score_correction_bias"
  end
  local fused = theirs .. ".experts.gate_up_proj"
  for e = 0, o.experts - 1 do
    local mine = ours .. ".experts." .. e
    if tensors[fused] then
      local both = reshape(slice(fused, 1, e + 1, 1), { 2 * o.hidden, o.dim })
      out[mine .. ".gate.weight"] = slice(both, 1, 1, o.hidden)
      out[mine .. ".up.weight"] = slice(both, 1, o.hidden + 1, o.hidden)
      out[mine .. ".down.weight"] = reshape(slice(theirs .. ".experts.down_proj", 1, e + 1, 1),
        { o.dim, o.hidden })
    else
      experts.gated(out, mine, theirs .. ".experts." .. e, o.names)
    end
  end
end

-- Fields of a router that takes the best of sigmoid scores, in groups (DeepSeek-V3's).
function experts.router_fields(more)
  local known = {
    moe_intermediate_size = common.size(), num_experts_per_tok = common.size(),
    n_group = common.size(), topk_group = common.size(), norm_topk_prob = common.yes,
    routed_scaling_factor = { type = "number", above = 0, required = true },
    moe_layer_freq = experts.only(1),
  }
  for name, field in pairs(more or {}) do known[name] = field end
  return known
end

-- The sublayer of such a router: E experts, 'shared' of which all tokens take.
function experts.grouped(c, count, shared, more)
  if count % c.n_group ~= 0 or count // c.n_group < 2 then
    refuse(experts.called(c, "n_group"), "a number of groups, each of two experts at least, of "
      .. counted(c, count), tostring(c.n_group))
  end
  if c.n_group > 1 and c.topk_group > c.n_group then
    refuse("topk_group", "at most " .. experts.called(c, "n_group") .. " = " .. c.n_group,
      tostring(c.topk_group))
  end
  experts.check_top(c, count, c.n_group > 1 and count // c.n_group * c.topk_group or count)
  local o = { experts = count, top = c.num_experts_per_tok, hidden = c.moe_intermediate_size,
              shared = shared, groups = c.n_group, normalize = c.norm_topk_prob,
              top_groups = c.n_group > 1 and c.topk_group or nil,
              scale = c.routed_scaling_factor, activation = c.activation }
  for name, value in pairs(more or {}) do o[name] = value end
  return moe(o)
end

-- {== Latent attention =======================================================

function experts.latent_fields(more)
  local dim = { type = "integer", min = 1, max = 1 << 20, required = true }
  local known = {
    q_lora_rank = common.optional, kv_lora_rank = dim, qk_nope_head_dim = dim,
    qk_rope_head_dim = dim, v_head_dim = dim,
  }
  for name, field in pairs(more or {}) do known[name] = field end
  return known
end

-- What follows from the others, and what old files say beside them.
experts.latent_without_effect = { "qk_head_dim", "num_key_value_heads" }

-- Scores grow with yarn's factor where the configuration says so (mscale_all_dim).
local function score_scale(c)
  local p, d = c.rope_parameters or c.rope_scaling, c.qk_nope_head_dim + c.qk_rope_head_dim
  local m = p and p.mscale_all_dim
  if not p or (p.rope_type or p.type or "default") == "default" or not m or m == null or m == 0 then
    return nil
  end
  local factor = p.factor > 1 and 0.1 * m * math.log(p.factor) + 1 or 1
  return d ^ -0.5 * factor * factor
end

-- The sublayer mla of a layer; 'rope' may be nil.  The norms of latents have an eps of their own,
-- whatever rms_norm_eps says.
function experts.latent(c, rope, more)
  local o = { heads = c.num_attention_heads, nope_dim = c.qk_nope_head_dim,
              rope_dim = c.qk_rope_head_dim, value_dim = c.v_head_dim, latent = c.kv_lora_rank,
              q_latent = c.q_lora_rank, rope = rope, scale = rope and score_scale(c),
              bias = c.attention_bias, eps = 1e-6 }
  for name, value in pairs(more or {}) do o[name] = value end
  return mla(o)
end

-- Its tensors.
function experts.latent_tensors(c, out, ours, theirs)
  local function matrix(mine, name, bias)
    out[ours .. "." .. mine .. ".weight"] = theirs .. "." .. name .. ".weight"
    if bias then out[ours .. "." .. mine .. ".bias"] = theirs .. "." .. name .. ".bias" end
  end
  if c.q_lora_rank then
    matrix("q_down", "q_a_proj", c.attention_bias)
    matrix("q_norm", "q_a_layernorm")
    matrix("q_up", "q_b_proj")
  else
    matrix("q", "q_proj")
  end
  matrix("kv_down", "kv_a_proj_with_mqa", c.attention_bias)
  matrix("kv_norm", "kv_a_layernorm")
  matrix("kv_up", "kv_b_proj")
  matrix("o", "o_proj", c.attention_bias)
end

-- }{== Delta attention ========================================================

local delta = {
  q = "q_proj", k = "k_proj", v = "v_proj", o = "o_proj", beta = "b_proj", out_norm = "o_norm",
  decay_down = "f_a_proj", decay_up = "f_b_proj", gate_down = "g_a_proj", gate_up = "g_b_proj",
}

-- Tensors of Kimi Delta Attention; o: the options heads, head_dim and conv of kda.
function experts.delta_tensors(out, o, ours, theirs)
  for mine, name in pairs(delta) do
    out[ours .. "." .. mine .. ".weight"] = theirs .. "." .. name .. ".weight"
  end
  for _, name in ipairs { "q", "k", "v" } do
    out[ours .. "." .. name .. "_conv.weight"] = reshape(theirs .. "." .. name .. "_conv1d.weight",
      { o.heads * o.head_dim, o.conv })
  end
  out[ours .. ".decay_bias"] = theirs .. ".dt_bias"
  out[ours .. ".decay_log"] = reshape(theirs .. ".A_log", { o.heads })
end

-- }==========================================================================
return experts
