-- SPDX-License-Identifier: MIT
-- A spec as an architecture of transformers: its config.json, and its tensors by the names there.
local decoder = require "decoder"

local written = activations.written.gated

local function decimals(list)
  local out = {}
  for i, x in ipairs(list) do out[i] = x + 0.0 end
  return out
end

local function rope_parameters(rope, context)
  local out = { { "rope_theta", (rope.theta or 10000) + 0.0 } }
  local y, l, g = rope.yarn, rope.llama3, rope.longrope
  if l then
    table.insert(out, { "rope_type", "llama3" })
    table.insert(out, { "factor", l.factor + 0.0 })
    table.insert(out, { "low_freq_factor", l.low + 0.0 })
    table.insert(out, { "high_freq_factor", l.high + 0.0 })
    table.insert(out, { "original_max_position_embeddings", l.original })
  elseif y then
    table.insert(out, { "rope_type", "yarn" })
    table.insert(out, { "factor", y.factor + 0.0 })
    table.insert(out, { "original_max_position_embeddings", y.original })
    if y.beta_fast then table.insert(out, { "beta_fast", y.beta_fast + 0.0 }) end
    if y.beta_slow then table.insert(out, { "beta_slow", y.beta_slow + 0.0 }) end
    if y.attention_factor then
      table.insert(out, { "attention_factor", y.attention_factor + 0.0 })
    end
    if y.truncate == false then table.insert(out, { "truncate", false }) end
  elseif g then
    table.insert(out, { "rope_type", "longrope" })
    for _, name in ipairs { "short", "long" } do
      table.insert(out, { name .. "_factor", decimals(g[name]) })
    end
    table.insert(out, { "original_max_position_embeddings", g.original })
    table.insert(out, { "factor", (g.factor or context / g.original) + 0.0 })
    if g.attention_factor then
      table.insert(out, { "attention_factor", g.attention_factor + 0.0 })
    end
  elseif rope.linear then
    table.insert(out, { "rope_type", "linear" })
    table.insert(out, { "factor", rope.linear + 0.0 })
  else
    table.insert(out, { "rope_type", "default" })
  end
  return out
end

-- Of which configurations have values of their own; generation_config.json has the tokenizer's.
local no_tokens = { { "bos_token_id", null }, { "eos_token_id", null } }

local known_rope = { theta = true, yarn = true, llama3 = true, linear = true, longrope = true }

-- The rope, where nothing but what is known differs.  Of longrope's two lists there the sequence
-- chooses, here the model's context does.
local function checked_rope(spec, d, lacks, among)
  local rope = decoder.rope(d, lacks, among)
  decoder.only(d.rope_differs, known_rope, "rope")
  if rope.longrope and spec.context > rope.longrope.original then
    refuse("rope.longrope, in a context beyond its original " .. rope.longrope.original)
  end
  return rope
end

-- What all decoders of Llama's family have in common; more: other fields; norms: theirs by ours, if
-- not those before sublayers; gain: what is made of norms' weights.
local function llama_like(spec, d, class, kind, rope, more, norms, gain)
  local a = d.attention
  local config = {
    { "architectures", { class } }, { "model_type", kind },
    { "vocab_size", spec.vocab }, { "hidden_size", spec.dim },
    { "intermediate_size", d.mlp.hidden }, { "num_hidden_layers", #spec.layers },
    { "num_attention_heads", a.heads }, { "num_key_value_heads", a.kv_heads or a.heads },
    { "head_dim", decoder.head_dim(spec, a) },
    { "hidden_act", written[d.mlp.activation] },
    { "max_position_embeddings", spec.context },
    { "rms_norm_eps", (spec.norm.options.eps or 1e-6) + 0.0 },
    { "tie_word_embeddings", spec.tied },
    { "rope_theta", (rope.theta or 10000) + 0.0 },
    { "rope_parameters", rope_parameters(rope, spec.context) },
  }
  for _, field in ipairs(more or {}) do table.insert(config, field) end
  for _, field in ipairs(no_tokens) do table.insert(config, field) end
  local names = {}
  for _, name in ipairs { "q", "k", "v", "o" } do
    names["attention." .. name] = "self_attn." .. name .. "_proj"
  end
  for _, name in ipairs { "gate", "up", "down" } do
    names["mlp." .. name] = "mlp." .. name .. "_proj"
  end
  gain = gain or function(name) return name end
  local out = { ["model.embed_tokens.weight"] = "embed.weight",
                ["model.norm.weight"] = gain("final_norm.weight") }
  if not spec.tied then out["lm_head.weight"] = "head.weight" end
  local function prefix(i) return "model.layers." .. i .. "." end
  decoder.tensors(spec, out, names, prefix)
  decoder.tensors(spec, out, { ["attention.q_norm"] = "self_attn.q_norm",
                               ["attention.k_norm"] = "self_attn.k_norm" }, prefix, gain)
  decoder.tensors(spec, out, norms or { ["attention.norm"] = "input_layernorm",
                                        ["mlp.norm"] = "post_attention_layernorm" }, prefix, gain)
  return { architecture = kind, config = config, tensors = out }
end

local function plain_norm(spec, kind)
  if spec.norm.kind ~= kind then refuse("the norm " .. spec.norm.kind) end
  decoder.only(spec.norm.differs, { eps = true, bias = kind == "layernorm" }, "the norm")
  if spec.final_norm ~= nil and spec.final_norm ~= true then refuse("another final norm") end
end

-- The stream as it is, or times a factor.
local function plain_stream(spec)
  if spec.mixer.kind ~= "standard" then refuse("residual " .. spec.mixer.kind) end
end

local attention_fields = { heads = true, kv_heads = true, head_dim = true, rope = true, name = true,
                           bias = true, window = true, qk_norm = true }
local mlp_fields = { hidden = true, activation = true, name = true, bias = true }

local function plain_parts(spec, d)
  decoder.only(spec.embedding_differs, { tied = true }, "embedding")
  decoder.only(spec.logits_differs, {}, "logits")
  decoder.only(d.differs.attention, attention_fields, "layers.0.attention")
  decoder.only(d.differs.mlp, mlp_fields, "layers.0.mlp")
end

-- Fields of architectures in which some layers may have a window.
local function window_fields(d)
  local window, _, kinds = decoder.windows(d)
  if not window then return { { "use_sliding_window", false } } end
  return { { "use_sliding_window", true }, { "sliding_window", window },
           { "max_window_layers", 0 }, { "layer_types", kinds } }
end

local function also(fields, more)
  for _, field in ipairs(more) do table.insert(fields, field) end
  return fields
end

local function qwen3(spec, d, rope, bias)
  if type(d.attention.qk_norm) == "table" then
    refuse("layers.0.attention: qk_norm of its own kind")
  end
  if bias == "qkv" then refuse("layers.0.attention: biases of q, k and v beside qk_norm") end
  return llama_like(spec, d, "Qwen3ForCausalLM", "qwen3", rope,
    also({ { "attention_bias", bias == "all" } }, window_fields(d)))
end

local function smollm3(spec, d, rope, bias)
  local layers = {}
  for i, r in ipairs(d.ropes) do layers[i] = r and 1 or 0 end
  return llama_like(spec, d, "SmolLM3ForCausalLM", "smollm3", rope,
    also({ { "attention_bias", bias == "all" }, { "mlp_bias", d.mlp.bias or false },
           { "no_rope_layers", layers }, { "pad_token_id", 0 } }, window_fields(d)))
end

local function qwen_or_llama(spec, d, rope)
  local a, bias = d.attention, decoder.biases(d.attention)
  local window, all = decoder.windows(d)
  local lacks = false
  for _, r in ipairs(d.ropes) do lacks = lacks or not r end
  if (a.qk_norm or bias == "qkv") and d.mlp.bias then refuse("layers.0.mlp: bias") end
  if (a.qk_norm or bias == "qkv") and lacks then refuse("layers without rope") end
  if a.qk_norm then return qwen3(spec, d, rope, bias) end
  if bias == "qkv" then
    return llama_like(spec, d, "Qwen2ForCausalLM", "qwen2", rope, window_fields(d))
  end
  if lacks then return smollm3(spec, d, rope, bias) end
  if window then
    if bias ~= "none" or d.mlp.bias then refuse("biases beside a window") end
    if not all then refuse("a window in some layers") end
    return llama_like(spec, d, "MistralForCausalLM", "mistral", rope,
      { { "sliding_window", window } })
  end
  return llama_like(spec, d, "LlamaForCausalLM", "llama", rope,
    { { "attention_bias", bias == "all" }, { "mlp_bias", d.mlp.bias or false } })
end

-- GPT-2: learned positions, layer norms with biases, matrices [in, out], q, k and v as one.
local function gpt2(spec, d)
  plain_norm(spec, "layernorm")
  decoder.only(spec.embedding_differs, { tied = true, positions = true }, "embedding")
  decoder.only(spec.logits_differs, {}, "logits")
  decoder.only(d.differs.attention, { heads = true, kv_heads = true, head_dim = true, name = true,
    bias = true }, "layers.0.attention")
  decoder.only(d.differs.mlp, mlp_fields, "layers.0.mlp")
  local a = d.attention
  if decoder.biases(a) ~= "all" or not d.mlp.bias then refuse("matrices without a bias") end
  if (a.kv_heads or a.heads) ~= a.heads then refuse("layers.0.attention: kv_heads") end
  if decoder.head_dim(spec, a) * a.heads ~= spec.dim then refuse("layers.0.attention: head_dim") end
  local act = activations.written.plain[d.mlp.activation]
  if not act then refuse("layers.0.mlp: activation " .. d.mlp.activation) end
  local out = { ["transformer.wte.weight"] = "embed.weight",
                ["transformer.wpe.weight"] = "positions.weight",
                ["transformer.ln_f.weight"] = "final_norm.weight",
                ["transformer.ln_f.bias"] = "final_norm.bias" }
  if not spec.tied then out["lm_head.weight"] = "head.weight" end
  local matrices = { ["attention.o"] = "attn.c_proj", ["mlp.up"] = "mlp.c_fc",
                     ["mlp.down"] = "mlp.c_proj" }
  local function prefix(i) return "transformer.h." .. i .. "." end
  decoder.tensors(spec, out, matrices, prefix, function(name, _, part)
    return part == ".weight" and transpose(name) or name
  end)
  decoder.tensors(spec, out, { ["attention.norm"] = "ln_1", ["mlp.norm"] = "ln_2" }, prefix)
  for i = 0, #spec.layers - 1 do
    local ours, theirs = "layers." .. i .. ".attention.", "transformer.h." .. i .. ".attn.c_attn"
    local weights, biases = {}, {}
    for k, name in ipairs { "q", "k", "v" } do
      weights[k], biases[k] = transpose(ours .. name .. ".weight"), ours .. name .. ".bias"
    end
    out[theirs .. ".weight"], out[theirs .. ".bias"] = concat(weights, 2), concat(biases, 1)
  end
  return { architecture = "gpt2", tensors = out, config = {
    { "architectures", { "GPT2LMHeadModel" } }, { "model_type", "gpt2" },
    { "vocab_size", spec.vocab }, { "n_positions", spec.context }, { "n_embd", spec.dim },
    { "n_layer", #spec.layers }, { "n_head", a.heads }, { "n_inner", d.mlp.hidden },
    { "activation_function", act },
    { "layer_norm_epsilon", (spec.norm.options.eps or 1e-5) + 0.0 },
    { "attn_pdrop", 0.0 }, { "embd_pdrop", 0.0 }, { "resid_pdrop", 0.0 },
    { "tie_word_embeddings", spec.tied }, no_tokens[1], no_tokens[2] } }
end

-- OLMo 2: norms after sublayers, and of all of q and k at once.
local function olmo2(spec, d)
  local a = d.attention
  decoder.only(spec.embedding_differs, { tied = true }, "embedding")
  decoder.only(spec.logits_differs, {}, "logits")
  decoder.only(d.differs.attention, decoder.with(attention_fields, { norm = true, window = false }),
    "layers.0.attention")
  decoder.only(d.differs.mlp, decoder.with(mlp_fields, { norm = true }), "layers.0.mlp")
  if type(a.qk_norm) ~= "table" or a.qk_norm.over ~= "all" or a.qk_norm.gain == false
    or a.qk_norm.after then
    refuse("layers.0.attention: norms after it, beside others of q and k than of all heads at once")
  end
  if d.mlp.bias then refuse("layers.0.mlp: bias") end
  if decoder.biases(a) == "qkv" then refuse("layers.0.attention: biases of q, k and v alone") end
  return llama_like(spec, d, "Olmo2ForCausalLM", "olmo2", checked_rope(spec, d),
    { { "attention_bias", decoder.biases(a) == "all" } },
    { ["attention.after_norm"] = "post_attention_layernorm",
      ["mlp.after_norm"] = "post_feedforward_layernorm" })
end

-- Granite: factors of embedding, scores, sublayers and logits.
local function granite(spec, d)
  local a = d.attention
  decoder.only(spec.embedding_differs, { tied = true, scale = true }, "embedding")
  decoder.only(spec.logits_differs, { scale = true }, "logits")
  decoder.only(d.differs.attention, decoder.with(attention_fields,
    { scale = true, multiplier = true, window = false, qk_norm = false }), "layers.0.attention")
  decoder.only(d.differs.mlp, decoder.with(mlp_fields, { multiplier = true }), "layers.0.mlp")
  if a.multiplier ~= d.mlp.multiplier then refuse("factors that differ between sublayers") end
  if decoder.biases(a) == "qkv" then refuse("layers.0.attention: biases of q, k and v alone") end
  if (spec.logits.scale or 1) <= 0 then refuse("logits.scale") end
  return llama_like(spec, d, "GraniteForCausalLM", "granite", checked_rope(spec, d), {
    { "attention_bias", decoder.biases(a) == "all" }, { "mlp_bias", d.mlp.bias or false },
    { "embedding_multiplier", (spec.embedding.scale or 1) + 0.0 },
    { "attention_multiplier", (a.scale or decoder.head_dim(spec, a) ^ -0.5) + 0.0 },
    { "residual_multiplier", (a.multiplier or 1) + 0.0 },
    { "logits_scaling", 1 / (spec.logits.scale or 1) } })
end

-- A number that is x, or as near as rounding leaves it, as an integer.
local function whole(x)
  local n = math.floor(x + 0.5)
  return math.abs(x - n) <= 1e-9 * n and n or x + 0.0
end

-- Gemma 3: norms before and after sublayers, gains 1 + w, layers with a window and a rope of their
-- own.
local function gemma3(spec, d)
  local a = d.attention
  decoder.only(spec.embedding_differs, { tied = true, scale = true }, "embedding")
  decoder.only(spec.logits_differs, { softcap = true }, "logits")
  decoder.only(d.differs.attention, decoder.with(attention_fields, { norm = true, scale = true }),
    "layers.0.attention")
  decoder.only(d.differs.mlp, decoder.with(mlp_fields, { norm = true }), "layers.0.mlp")
  local width = spec.dim ^ 0.5
  if math.abs((spec.embedding.scale or 1) - width) > 1e-9 * width then
    refuse("norms before and after sublayers, beside an embedding that is not times sqrt(dim)")
  end
  if a.qk_norm ~= true then refuse("norms before and after sublayers without qk_norm") end
  if d.mlp.bias or decoder.biases(a) == "qkv" then refuse("biases") end
  local window, all, kinds = decoder.windows(d)
  local far = not all and checked_rope(spec, d, false, function(i) return not d.windows[i] end)
  local near = window and checked_rope(spec, d, false, function(i) return d.windows[i] end)
  for _, way in ipairs(near and { "yarn", "linear", "llama3", "longrope" } or {}) do
    if near[way] then refuse("a scaled rope of windows") end
  end
  local act = written[d.mlp.activation]
  local made = llama_like(spec, d, "Gemma3ForCausalLM", "gemma3_text", far or near, {
    { "attention_bias", decoder.biases(a) == "all" }, { "hidden_activation", act },
    { "query_pre_attn_scalar", whole(a.scale and a.scale ^ -2 or decoder.head_dim(spec, a)) },
    { "sliding_window", window or spec.context }, { "layer_types", kinds },
    { "final_logit_softcapping", spec.logits.softcap and spec.logits.softcap + 0.0 or null },
    { "attn_logit_softcapping", null }, { "pad_token_id", 0 },
  }, { ["attention.norm"] = "input_layernorm",
       ["attention.after_norm"] = "post_attention_layernorm",
       ["mlp.norm"] = "pre_feedforward_layernorm",
       ["mlp.after_norm"] = "post_feedforward_layernorm" },
    function(name) return plus(name, -1) end)
  local ropes = { { "full_attention", rope_parameters(far or near, spec.context) },
                  { "sliding_attention", rope_parameters(near or far, spec.context) } }
  local config = {}
  for _, field in ipairs(made.config) do
    local name = field[1]
    if name == "rope_parameters" then field = { name, ropes } end
    if name ~= "rope_theta" and name ~= "hidden_act" then table.insert(config, field) end
  end
  made.config = config
  return made
end

-- Is a norm before and after every sublayer, only after, or as it is without being said?
local function norms_of(options)
  local norm = options.norm
  if norm == nil or (norm.after == nil or norm.after == false) and norm.before ~= false then
    return "before"
  end
  if norm.after ~= true then refuse("layers.0: a norm of its own kind") end
  return norm.before == false and "after" or "both"
end

return function(spec)
  plain_stream(spec)
  local d = decoder.layers(spec)
  if spec.embedding.positions then return gpt2(spec, d) end
  plain_norm(spec, "rmsnorm")
  if not written[d.mlp.activation] then
    refuse("layers.0.mlp: activation " .. d.mlp.activation)
  end
  local norms = norms_of(d.attention)
  if norms ~= norms_of(d.mlp) then refuse("layers.0: norms that differ between sublayers") end
  if norms == "after" then return olmo2(spec, d) end
  if norms == "both" then return gemma3(spec, d) end
  local factors = spec.embedding.scale or spec.logits.scale or d.attention.scale
    or (d.attention.multiplier or 1) ~= 1 or (d.mlp.multiplier or 1) ~= 1
  if norms == "before" and factors then return granite(spec, d) end
  plain_parts(spec, d)
  return qwen_or_llama(spec, d, checked_rope(spec, d, true))
end
