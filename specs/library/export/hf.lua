-- A spec as an architecture of transformers: its config.json, and its tensors by the names there.
local decoder = require "decoder"

local activations = { swiglu = "silu", geglu = "gelu", geglu_tanh = "gelu_pytorch_tanh",
                      reglu = "relu", gelu_tanh = "gelu_new" }

local function rope_parameters(rope)
  local out = { { "rope_theta", (rope.theta or 10000) + 0.0 } }
  local y, l = rope.yarn, rope.llama3
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

local known_rope = { theta = true, yarn = true, llama3 = true, linear = true }

-- The rope, where nothing but what is known differs.
local function checked_rope(d, may_lack)
  local rope = decoder.rope(d, may_lack)
  decoder.only(d.rope_differs, known_rope, "rope")
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
    { "hidden_act", activations[d.mlp.activation] },
    { "max_position_embeddings", spec.context },
    { "rms_norm_eps", (spec.norm.options.eps or 1e-6) + 0.0 },
    { "tie_word_embeddings", spec.tied },
    { "rope_theta", (rope.theta or 10000) + 0.0 }, { "rope_parameters", rope_parameters(rope) },
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

local function qwen_or_llama(spec, d, rope)
  local a, bias, window = d.attention, decoder.biases(d.attention), decoder.window(d)
  local lacks = false
  for _, r in ipairs(d.ropes) do lacks = lacks or not r end
  if a.qk_norm then
    if type(a.qk_norm) == "table" then refuse("layers.0.attention: qk_norm of its own kind") end
    if lacks then refuse("layers without rope beside qk_norm") end
    if d.mlp.bias then refuse("layers.0.mlp: bias") end
    if bias == "qkv" then refuse("layers.0.attention: biases of q, k and v beside qk_norm") end
    if window then refuse("layers.0.attention: window beside qk_norm") end
    return llama_like(spec, d, "Qwen3ForCausalLM", "qwen3", rope,
      { { "attention_bias", bias == "all" }, { "use_sliding_window", false } })
  end
  if bias == "qkv" then
    if d.mlp.bias then refuse("layers.0.mlp: bias") end
    if lacks then refuse("layers without rope beside biases") end
    if window then refuse("layers.0.attention: window beside biases") end
    return llama_like(spec, d, "Qwen2ForCausalLM", "qwen2", rope,
      { { "use_sliding_window", false } })
  end
  if window then
    if bias ~= "none" or d.mlp.bias then refuse("biases beside a window") end
    if lacks then refuse("layers without rope beside a window") end
    return llama_like(spec, d, "MistralForCausalLM", "mistral", rope,
      { { "sliding_window", window } })
  end
  if lacks then
    local layers = {}
    for i, r in ipairs(d.ropes) do layers[i] = r and 1 or 0 end
    return llama_like(spec, d, "SmolLM3ForCausalLM", "smollm3", rope,
      { { "attention_bias", bias == "all" }, { "mlp_bias", d.mlp.bias or false },
        { "no_rope_layers", layers }, { "use_sliding_window", false }, { "pad_token_id", 0 } })
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
  local act = ({ gelu_tanh = "gelu_new", gelu = "gelu", relu = "relu", silu = "silu" })
    [d.mlp.activation]
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
  return llama_like(spec, d, "Olmo2ForCausalLM", "olmo2", checked_rope(d),
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
  return llama_like(spec, d, "GraniteForCausalLM", "granite", checked_rope(d), {
    { "attention_bias", decoder.biases(a) == "all" }, { "mlp_bias", d.mlp.bias or false },
    { "embedding_multiplier", (spec.embedding.scale or 1) + 0.0 },
    { "attention_multiplier", (a.scale or decoder.head_dim(spec, a) ^ -0.5) + 0.0 },
    { "residual_multiplier", (a.multiplier or 1) + 0.0 },
    { "logits_scaling", 1 / (spec.logits.scale or 1) } })
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
  if not activations[d.mlp.activation] or d.mlp.activation == "gelu_tanh" then
    refuse("layers.0.mlp: activation " .. d.mlp.activation)
  end
  local norms = norms_of(d.attention)
  if norms ~= norms_of(d.mlp) then refuse("layers.0: norms that differ between sublayers") end
  if norms == "after" then return olmo2(spec, d) end
  local factors = spec.embedding.scale or spec.logits.scale or d.attention.scale
    or (d.attention.multiplier or 1) ~= 1 or (d.mlp.multiplier or 1) ~= 1
  if norms == "before" and factors then return granite(spec, d) end
  plain_parts(spec, d)
  return qwen_or_llama(spec, d, checked_rope(d, true))
end
