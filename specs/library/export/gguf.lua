-- SPDX-License-Identifier: MIT
-- A spec as an architecture of llama.cpp: GGUF's metadata, and its tensors by the names there.
local decoder = require "decoder"
local hf = require "hf"

local kinds = { llama = "llama", qwen2 = "qwen2", qwen3 = "qwen3", gpt2 = "gpt2" }

-- llama.cpp turns neighbours in heads of llama, ours (and Hugging Face's) halves: rows of q and k
-- in another order.
local function interleaved(name, heads, part)
  local t = tensors[name]
  local d = t[1] // heads
  local shape = { heads, 2, d // 2 }
  local order = { 1, 3, 2 }
  if part == ".weight" then shape[4], order[4] = t[2], 4 end
  local back = {}
  for i, n in ipairs(t) do back[i] = n end
  return reshape(transpose(reshape(name, shape), order), back)
end

-- What llama.cpp divides each frequency by, as Llama 3 scales them: long waves by the factor, short
-- ones not, those between in between.
local function llama3_factors(rope, head)
  local l, out = rope.llama3, {}
  for i = 0, head // 2 - 1 do
    local turns = l.original * (rope.theta or 10000) ^ (-2 * i / head) / (2 * math.pi)
    local short = math.max(0, math.min(1, (turns - l.low) / (l.high - l.low)))
    out[i + 1] = constant(1 / ((1 - short) / l.factor + short), { 1 })
  end
  return concat(out, 1)
end

local function block(i) return "blk." .. i .. "." end

local function llama_tensors(spec, d, kind)
  local a = d.attention
  local names = {
    ["attention.norm"] = "attn_norm", ["mlp.norm"] = "ffn_norm",
    ["attention.q"] = "attn_q", ["attention.k"] = "attn_k", ["attention.v"] = "attn_v",
    ["attention.o"] = "attn_output",
    ["attention.q_norm"] = "attn_q_norm", ["attention.k_norm"] = "attn_k_norm",
    ["mlp.gate"] = "ffn_gate", ["mlp.up"] = "ffn_up", ["mlp.down"] = "ffn_down",
  }
  local out = { ["token_embd.weight"] = "embed.weight",
                ["output_norm.weight"] = "final_norm.weight" }
  if not spec.tied then out["output.weight"] = "head.weight" end
  local rope = decoder.rope(d)
  if rope.llama3 then
    out["rope_freqs.weight"] = llama3_factors(rope, decoder.head_dim(spec, a))
  end
  return decoder.tensors(spec, out, names, block, function(name, ours, part)
    if kind ~= "llama" then return name end
    if ours == "attention.q" then return interleaved(name, a.heads, part) end
    if ours == "attention.k" then return interleaved(name, a.kv_heads or a.heads, part) end
    return name
  end)
end

local function gpt2_tensors(spec)
  local out = { ["token_embd.weight"] = "embed.weight",
                ["position_embd.weight"] = "positions.weight",
                ["output_norm.weight"] = "final_norm.weight",
                ["output_norm.bias"] = "final_norm.bias",
                ["output.weight"] = spec.tied and "embed.weight" or "head.weight" }
  decoder.tensors(spec, out, {
    ["attention.norm"] = "attn_norm", ["mlp.norm"] = "ffn_norm", ["attention.o"] = "attn_output",
    ["mlp.up"] = "ffn_up", ["mlp.down"] = "ffn_down",
  }, block)
  for i = 0, #spec.layers - 1 do
    for _, part in ipairs { ".weight", ".bias" } do
      local list = {}
      for k, name in ipairs { "q", "k", "v" } do
        list[k] = "layers." .. i .. ".attention." .. name .. part
      end
      out["blk." .. i .. ".attn_qkv" .. part] = concat(list, 1)
    end
  end
  return out
end

local function metadata(spec, d, kind)
  local a, out = d.attention, {}
  local function add(type, key, value) out[#out + 1] = { type, key, value } end
  add("string", "general.architecture", kind)
  add("string", "general.name", spec.name)
  add("u32", kind .. ".block_count", #spec.layers)
  add("u32", kind .. ".context_length", spec.context)
  add("u32", kind .. ".embedding_length", spec.dim)
  add("u32", kind .. ".feed_forward_length", d.mlp.hidden)
  add("u32", kind .. ".attention.head_count", a.heads)
  add("u32", kind .. ".vocab_size", spec.vocab)
  if kind == "gpt2" then
    add("f32", "gpt2.attention.layer_norm_epsilon", spec.norm.options.eps or 1e-5)
    return out
  end
  local head = decoder.head_dim(spec, a)
  add("u32", kind .. ".attention.head_count_kv", a.kv_heads or a.heads)
  add("u32", kind .. ".attention.key_length", head)
  add("u32", kind .. ".attention.value_length", head)
  add("f32", kind .. ".attention.layer_norm_rms_epsilon", spec.norm.options.eps or 1e-6)
  add("u32", kind .. ".rope.dimension_count", head)
  local rope = decoder.rope(d)
  add("f32", kind .. ".rope.freq_base", rope.theta or 10000)
  if rope.linear then
    add("string", kind .. ".rope.scaling.type", "linear")
    add("f32", kind .. ".rope.scaling.factor", rope.linear)
  end
  for _, way in ipairs { "yarn", "longrope" } do
    if rope[way] then refuse("layers.0.attention: rope." .. way) end
  end
  return out
end

return function(spec)
  local made = hf(spec)
  local kind = kinds[made.architecture]
  local d = decoder.layers(spec)
  if decoder.windows(d) then refuse("layers.0.attention: window") end
  if not kind then refuse("the architecture " .. made.architecture) end
  if d.mlp.activation ~= (kind == "gpt2" and "gelu_tanh" or "swiglu") then
    refuse("layers.0.mlp: activation " .. d.mlp.activation)
  end
  if kind == "llama" and d.mlp.bias or kind == "qwen3" and d.attention.bias then
    refuse("biases of " .. (kind == "llama" and "layers.0.mlp" or "layers.0.attention"))
  end
  return { architecture = kind, metadata = metadata(spec, d, kind),
           tensors = kind == "gpt2" and gpt2_tensors(spec)
             or llama_tensors(spec, d, kind) }
end
