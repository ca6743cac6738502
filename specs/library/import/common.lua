-- SPDX-License-Identifier: MIT
-- What importers of several architectures share.
local common = {}

local function size(default)
  return { type = "integer", min = 1, max = (1 << 31) - 1, default = default,
           required = default == nil }
end
common.size = size
common.count = { type = "integer", min = 1, max = 10000, required = true, layers = true }
common.optional = { type = "integer", min = 1, max = (1 << 31) - 1 }
common.eps = { type = "number", min = 0, required = true }
common.no = { type = "boolean", default = false }
common.yes = { type = "boolean", default = true }
common.never = { type = "boolean", one_of = { false }, default = false }
common.kv_heads = { type = "integer", min = 1, max = (1 << 31) - 1, required = true,
                    nullable = true }
common.text = { type = "string", required = true }
common.fraction = { type = "number", above = 0 }

-- {== Positions ==============================================================

-- The fields of config.json that say how positions turn, whichever version wrote them.
common.rope_fields = {
  rope_theta = { type = "number", above = 1 },
  rope_scaling = { type = "object" }, rope_parameters = { type = "object" },
  partial_rotary_factor = { type = "number", above = 0, max = 1 },
  original_max_position_embeddings = common.optional,
}

local positive = { type = "number", above = 0, required = true }
local factor = { type = "number", min = 1e-6, required = true }
local original = { type = "integer", min = 1 }
local divisors = { type = "list", of = { type = "number", above = 0 }, required = true }
-- By type of rope, the fields that it has besides those of all.
local kinds = {
  default = {}, linear = { factor = factor }, dynamic = { factor = factor },
  yarn = { factor = { type = "number", min = 1, required = true },
           original_max_position_embeddings = original,
           beta_fast = { type = "number", min = 0 }, beta_slow = { type = "number", min = 0 },
           attention_factor = { type = "number", above = 0 }, mscale = { type = "number", min = 0 },
           mscale_all_dim = { type = "number", min = 0 },
           truncate = { type = "boolean", default = true } },
  longrope = { short_factor = divisors, long_factor = divisors,
               original_max_position_embeddings = original,
               factor = { type = "number", above = 0 },
               attention_factor = { type = "number", above = 0 } },
  llama3 = { factor = factor, low_freq_factor = positive, high_freq_factor = positive,
             original_max_position_embeddings = original },
}

local function some(x) return x and x ~= 0 and x or nil end

local function magnitude(factor, m)
  return factor > 1 and 0.1 * m * math.log(factor) + 1 or 1
end

local function yarn(o, original)
  local scale = o.attention_factor
  if not scale and some(o.mscale) and some(o.mscale_all_dim) then
    scale = magnitude(o.factor, o.mscale) / magnitude(o.factor, o.mscale_all_dim)
  end
  return { factor = o.factor, original = original, beta_fast = some(o.beta_fast),
           beta_slow = some(o.beta_slow), attention_factor = scale, truncate = o.truncate }
end

local function read_kind(given, where)
  if type(given) ~= "table" then fields(given, {}, nil, where) end -- which refuses it
  local kind = given.rope_type
  if kind == nil or kind == null then kind = given.type end
  if kind == nil or kind == null then kind = "default" end
  if not kinds[kind] then
    refuse(where .. ".rope_type", "default, linear, dynamic, yarn, longrope or llama3",
      type(kind) == "string" and "'" .. kind .. "'" or "a " .. type(kind))
  end
  local known = { rope_type = { type = "string" }, type = { type = "string" },
                  rope_theta = { type = "number", above = 1, null = false },
                  partial_rotary_factor = common.rope_fields.partial_rotary_factor }
  for name, field in pairs(kinds[kind]) do known[name] = field end
  return kind, fields(given, known, { "original_max_position_embeddings" }, where,
    "rope_type '" .. kind .. "'")
end

-- Refuses what settings nested by 'names' have beside them; what ropes have in the same place
-- nothing reads, here as there.
function common.check_nested(given, where, names)
  local known, beside = {}, { "rope_type", "type", "rope_theta", "partial_rotary_factor" }
  for _, name in ipairs(names) do known[name] = {} end
  for _, kind in pairs(kinds) do
    for name in pairs(kind) do beside[#beside + 1] = name end
  end
  fields(given, known, beside, where)
end

-- What a configuration says of ropes, and where.
local function rope_of(c)
  if not c.rope_scaling then return c.rope_parameters or {}, "rope_parameters" end
  if c.rope_parameters then
    refuse("rope_scaling", "one of rope_scaling and rope_parameters", "both")
  end
  return c.rope_scaling, "rope_scaling"
end

common.rope_given = rope_of

-- The context of the model that this becomes: longrope turns by other numbers in longer sequences
-- than those of training, and a model by one of its two lists.
function common.context(c)
  local context, given = c.max_position_embeddings, rope_of(c)
  local outer = c.original_max_position_embeddings
  local function limit(p, first)
    if p.rope_type ~= "longrope" and p.type ~= "longrope" then return end
    local n = first or p.original_max_position_embeddings
    if math.type(n) == "integer" then context = math.min(context, n) end
  end
  limit(given, outer)
  for _, p in pairs(given) do
    if type(p) == "table" then limit(p) end
  end
  return context
end

-- Whether settings are nested by types of layers.
local function is_nested(given)
  for _, v in pairs(given) do
    if type(v) == "table" and #v == 0 and next(v) ~= nil then return true end
  end
  return false
end

-- rope(c, { head_dim =, field =, where =, layer_type =, theta =, partial = }): the option rope of
-- attention, from fields c that have rope_fields and max_position_embeddings.  field: what says
-- head_dim, if not the field of that name; where: what says rope_parameters, likewise.  layer_type:
-- where settings are nested by it.  theta: of this layer
-- where none is nested.  partial: whether heads may turn in part; if not, a partial_rotary_factor
-- below 1 is refused.  Dynamic scaling changes nothing up to the context, beyond which a model does
-- not go; common.context is longrope's.
function common.rope(c, o)
  local given, where = rope_of(c)
  where = o.where or where
  local outer, truncate = c.original_max_position_embeddings, nil
  if o.layer_type and given[o.layer_type] == nil and is_nested(given) then
    refuse(where .. "." .. o.layer_type, "an object", "none")
  end
  if o.layer_type and given[o.layer_type] ~= nil then
    truncate = given.truncate ~= false      -- transformers looks for it here
    where = o.where or where .. "." .. o.layer_type
    given, outer = given[o.layer_type], nil
    if given == null then given = {} end
  end
  local kind, p = read_kind(given, where)
  if truncate ~= nil then p.truncate = truncate end
  local trained = outer or p.original_max_position_embeddings or c.max_position_embeddings
  local theta = p.rope_theta or o.theta or c.rope_theta
  if not theta then
    local nested = c.rope_parameters or c.rope_scaling
    refuse((nested and where .. "." or "") .. "rope_theta", "the base of rope's frequencies",
      "none")
  end
  local share = p.partial_rotary_factor or c.partial_rotary_factor or 1
  if share ~= 1 and not o.partial then
    refuse("partial_rotary_factor", "1", tostring(share))
  end
  local rope = { theta = theta }
  if share == 1 and o.head_dim % 2 ~= 0 then
    refuse(o.field or "head_dim", "an even number of channels that turn", tostring(o.head_dim))
  end
  if share ~= 1 then
    rope.dims = math.floor(o.head_dim * share)
    if rope.dims < 2 or rope.dims % 2 ~= 0 then
      refuse("partial_rotary_factor", "one by which an even number of " .. (o.field or "head_dim")
        .. " = " .. o.head_dim .. " channels turn", share .. ", that is " .. rope.dims)
    end
  end
  if kind == "linear" and p.factor ~= 1 then rope.linear = p.factor end
  if kind == "yarn" then rope.yarn = yarn(p, trained) end
  if kind == "llama3" and p.low_freq_factor >= p.high_freq_factor then
    refuse(where .. ".low_freq_factor", "a number below high_freq_factor = " .. p.high_freq_factor,
      tostring(p.low_freq_factor))
  end
  if kind == "llama3" then
    rope.llama3 = { factor = p.factor, low = p.low_freq_factor, high = p.high_freq_factor,
                    original = trained }
  end
  if kind == "longrope" then
    rope.longrope = { short = p.short_factor, long = p.long_factor, original = trained,
                      factor = p.factor or c.max_position_embeddings / trained,
                      attention_factor = p.attention_factor }
  end
  return rope
end

-- }{== Layers ================================================================

-- The fields that say which layers attend to a window.
common.window_fields = {
  layer_types = { type = "list", of = { type = "string" } },
  sliding_window = common.optional, use_sliding_window = common.no,
}

-- Which layers attend to a window, from 1: a list of booleans.  otherwise: i's, where the
-- configuration does not list them; window: whether there is one.
function common.sliding(c, window, otherwise)
  local list, given = {}, c.layer_types
  if given and #given ~= c.num_hidden_layers then
    refuse("layer_types", "num_hidden_layers = " .. c.num_hidden_layers .. " of them",
      tostring(#given))
  end
  for i = 1, c.num_hidden_layers do
    if given and given[i] ~= "full_attention" and given[i] ~= "sliding_attention" then
      refuse("layer_types", "full_attention and sliding_attention", "'" .. given[i] .. "'")
    end
    if given then list[i] = given[i] == "sliding_attention" else list[i] = otherwise(i) end
    if list[i] and not window then
      refuse("layer_types", "full_attention without " .. (c.use_sliding_window == false
        and "use_sliding_window" or "a sliding_window"), "sliding_attention")
    end
  end
  return list
end

-- A window as attention takes it: none if it reaches over the whole context.
function common.window(c, window)
  return window and window < c.max_position_embeddings and window or nil
end

-- A copy of the options with more.
function common.with(options, more)
  local out = {}
  for name, v in pairs(options) do out[name] = v end
  for name, v in pairs(more) do out[name] = v end
  return out
end

-- }{== Sizes and activations =================================================

-- Fields that nearly all have; 'more': others, or false for one of these that there is not.
function common.known(more)
  local known = {
    vocab_size = size(), hidden_size = size(), intermediate_size = size(),
    num_hidden_layers = common.count, num_attention_heads = size(),
    num_key_value_heads = common.optional, head_dim = common.optional,
    max_position_embeddings = size(), rms_norm_eps = common.eps,
    tie_word_embeddings = common.no, hidden_act = common.text,
    attention_bias = common.no, mlp_bias = common.no,
  }
  for name, field in pairs(common.rope_fields) do known[name] = field end
  for name, field in pairs(more or {}) do known[name] = field or nil end
  return known
end

-- A model with one norm before every sublayer; 'more': other fields of model.
function common.model(c, layers, more)
  return model(common.with({
    vocab = c.vocab_size, context = common.context(c), dim = c.hidden_size,
    embedding = { tied = c.tie_word_embeddings },
    norm = rmsnorm { eps = c.rms_norm_eps },
    layers = layers,
  }, more or {}))
end

-- The list of layers that 'make', given the number of one from 1, returns.
function common.layers(c, make)
  local list = {}
  for i = 1, c.num_hidden_layers do list[i] = make(i) end
  return list
end

-- The gated MLP that most have.
function common.mlp(c, more)
  return mlp(common.with({ hidden = c.intermediate_size, bias = c.mlp_bias,
    activation = common.activation("hidden_act", c.hidden_act, true) }, more or {}))
end

-- Refuses heads that do not divide a field: the names of both.
function common.divides(c, name, whole)
  if c[whole] % c[name] ~= 0 then
    refuse(name, "a divisor of " .. whole .. " = " .. c[whole], tostring(c[name]))
  end
end

-- The head's size, and the options heads, kv_heads, head_dim without what follows from the others.
function common.heads(c)
  local heads, kv = c.num_attention_heads, c.num_key_value_heads or c.num_attention_heads
  local d = c.head_dim or c.hidden_size // heads
  if not c.head_dim then common.divides(c, "num_attention_heads", "hidden_size") end
  if c.num_key_value_heads then common.divides(c, "num_key_value_heads", "num_attention_heads") end
  return d, { heads = heads, kv_heads = kv ~= heads and kv or nil,
              head_dim = d * heads ~= c.hidden_size and d or nil }
end

-- The activation of an MLP: with gates, or without.
function common.activation(field, name, has_gate)
  local known = has_gate and activations.read.gated or activations.read.plain
  if known[name] then return known[name] end
  local names = {}
  for other in pairs(known) do names[#names + 1] = other end
  refuse(field, "one of " .. table.concat(names, ", "), "'" .. name .. "'")
end

-- }{== Tensors ===============================================================

-- The matrix ours, and its bias where there is one, from theirs; of: what is made of each.
function common.linear(out, tensors, ours, theirs, of)
  of = of or function(x) return x end
  out[ours .. ".weight"] = of(theirs .. ".weight")
  if tensors[theirs .. ".bias"] then out[ours .. ".bias"] = of(theirs .. ".bias") end
end

-- Hyper-connections of a sublayer, or of the end; 'theirs' with names of three tensors behind it
function common.connection(out, ours, theirs)
  for mine, name in pairs { ["proj.weight"] = "fn", bias = "base", alpha = "scale" } do
    out[ours .. ".residual." .. mine] = theirs .. name
  end
end

-- Tensors of decoders with Llama's names.  o: { mlp = { ours = "theirs" }, norms = { theirs =
-- "ours" } of a layer, qk_norm =, gain = function of a norm's recipe, final = whether there is a
-- final norm with a gain }.
function common.decoder(c, tensors, o)
  o = o or {}
  local gain = o.gain or function(x) return x end
  local out = { ["embed.weight"] = "model.embed_tokens.weight" }
  if o.final ~= false then out["final_norm.weight"] = gain "model.norm.weight" end
  local matrices = o.mlp or { gate = "gate_proj", up = "up_proj", down = "down_proj" }
  local norms = o.norms or { input_layernorm = "attention.norm",
                             post_attention_layernorm = "mlp.norm" }
  for i = 0, c.num_hidden_layers - 1 do
    local ours, theirs = "layers." .. i .. ".", "model.layers." .. i .. "."
    for _, name in ipairs { "q", "k", "v", "o" } do
      common.linear(out, tensors, ours .. "attention." .. name,
        theirs .. "self_attn." .. name .. "_proj")
    end
    for name, other in pairs(matrices) do
      common.linear(out, tensors, ours .. "mlp." .. name, theirs .. "mlp." .. other)
    end
    for name, norm in pairs(norms) do
      out[ours .. norm .. ".weight"] = gain(theirs .. name .. ".weight")
    end
    for _, name in ipairs(o.qk_norm and { "q_norm", "k_norm" } or {}) do
      out[ours .. "attention." .. name .. ".weight"] =
        gain(theirs .. "self_attn." .. name .. ".weight")
    end
  end
  return out
end

-- What an importer returns, with the head; what old files have beside weights is left.
function common.result(c, tensors, out, spec)
  local same = {}
  if not c.tie_word_embeddings then
    out["head.weight"] = "lm_head.weight"
  elseif tensors["lm_head.weight"] then
    same["lm_head.weight"] = out["embed.weight"]
  end
  return { spec = spec, tensors = out, same = same,
           ignore = { "model.layers.*.self_attn.rotary_emb.inv_freq",
                      "model.rotary_emb.inv_freq" } }
end

-- An importer of a decoder with Llama's names whose late layers may attend to a window, as Qwen's
-- do: its model_type, the known fields besides Llama's, those that its class does not have, options
-- of attention by the fields, and of the decoder.
function common.windowed(kind, known, beside, options, decoder)
  known.max_window_layers = { type = "integer", min = 0, required = true }
  known.use_mrope = common.never
  known = common.known(common.with(common.window_fields, known))
  return function(config, tensors)
    local c = builtin "class".fields(kind, config, known, nil, beside)
    local d, heads = common.heads(c)
    heads = common.with(heads, options(c))
    heads.rope = common.rope(c, { head_dim = d })
    local window = c.use_sliding_window and c.sliding_window or nil
    local slides = common.sliding(c, window, function(i)
      return window ~= nil and i > c.max_window_layers
    end)
    local full = named("full", layer { attention(heads), common.mlp(c) })
    heads = common.with(heads, { window = common.window(c, window) })
    local sliding = named("sliding", layer { attention(heads), common.mlp(c) })
    local layers = common.layers(c, function(i) return slides[i] and sliding or full end)
    return common.result(c, tensors, common.decoder(c, tensors, decoder), common.model(c, layers))
  end
end

-- }==========================================================================
return common
