-- SPDX-License-Identifier: MIT
-- What importers are made of: reading config.json, tensors made of stored tensors, and specs as
-- data that are written as text.  Its environment is the library's; importers see what is in
-- 'env'.  See ../importers.md.
--   request: { config =, tensors =, null =, path =, name =, identifier =, tokenizer =, own = }
--   stored, numbers: how many tensors there are, and numbers in them
--   own: whether the importer is a file of the user's
--   residual, route: Lua text for these fields of the model and of each layer, or nil
local request = ...
local null = request.null

-- {== config.json ============================================================

-- What every configuration may have and nothing computes with.
local inert = {}
for _, name in ipairs {
  "_attn_implementation", "_commit_hash", "_experts_implementation", "_name_or_path",
  "_num_labels", "architectures", "attention_dropout", "attn_implementation", "auto_map",
  "bos_token_id", "cache_implementation", "chunk_size_feed_forward", "cls_token_id",
  "cross_attention_hidden_size", "decoder_start_token_id", "dtype", "embd_pdrop", "eos_token_id",
  "experts_implementation", "finetuning_task", "generation_config", "gradient_checkpointing",
  "id2label", "initializer_range", "is_decoder", "is_encoder_decoder",
  "keys_to_ignore_at_inference", "label2id", "mask_token_id", "model_type", "name_or_path",
  "num_labels", "output_attentions", "output_hidden_states", "pad_token_id", "prefix",
  "pretraining_tp", "problem_type", "resid_pdrop", "return_dict", "sep_token_id",
  "task_specific_params", "tf_legacy_loss", "tie_encoder_decoder", "tokenizer_class",
  "torch_dtype", "torchscript", "transformers.js_config", "transformers_version", "unsloth_fixed",
  "unsloth_version", "use_bfloat16", "use_cache", "use_return_dict",
  -- how text is drawn, which configurations said before there was generation_config.json
  "assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight",
  "assistant_lookbehind", "bad_words_ids",
  "begin_suppress_tokens", "cache_config", "compile_config", "constraints",
  "continuous_batching_config", "disable_compile", "diversity_penalty", "do_sample",
  "dola_layers", "early_stopping", "encoder_no_repeat_ngram_size", "encoder_repetition_penalty",
  "epsilon_cutoff", "eta_cutoff", "exponential_decay_length_penalty", "force_words_ids",
  "forced_bos_token_id", "forced_eos_token_id", "guidance_scale", "is_assistant",
  "length_penalty", "low_memory", "max_cache_len", "max_length", "max_matching_ngram_size",
  "max_new_tokens", "max_time", "min_length", "min_new_tokens", "min_p", "no_repeat_ngram_size",
  "num_assistant_tokens", "num_assistant_tokens_schedule", "num_beam_groups", "num_beams",
  "num_return_sequences", "output_logits", "output_scores", "penalty_alpha", "prefill_chunk_size",
  "prompt_lookup_num_tokens", "remove_invalid_values", "renormalize_logits", "repetition_penalty",
  "return_dict_in_generate", "return_legacy_cache", "sequence_bias", "speculation_type",
  "stop_strings",
  "suppress_tokens", "target_lookbehind", "temperature", "token_healing", "top_h", "top_k",
  "top_p", "typical_p", "use_mtp", "watermarking_config",
} do inert[name] = true end

local function show(v)
  if v == null then return "null" end
  if type(v) == "table" then return #v > 0 and "a list" or "an object" end
  return describe(v)
end

-- A value as config.json has it, not in full length: what a message shows of an unknown field.
local function value_text(v)
  if v == null then return "null" end
  if type(v) == "string" then return '"' .. v:sub(1, 60) .. '"' end
  if type(v) ~= "table" then return tostring(v) end
  local out, names = {}, {}
  for i = 1, math.min(#v, 9) do out[i] = value_text(v[i]) end
  for name in pairs(v) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  for i = 1, math.min(#names, 9) do out[i] = '"' .. names[i] .. '": ' .. value_text(v[names[i]]) end
  local text = table.concat(out, ", ")
  if #text > 60 or #v > 9 or #names > 9 then text = text:sub(1, 60) .. " ..." end
  return #names > 0 and "{" .. text .. "}" or "[" .. text .. "]"
end

-- The same in words.
local function show_whole(v)
  return type(v) == "table" and show(v) .. ", " .. value_text(v) or show(v)
end

-- An error of the folder: no line of an importer is to blame.
local function refuse(where, expected, found)
  error(request.path .. "/config.json: " .. where .. ": expected " .. expected .. ", found "
    .. found, 0)
end

local function one_of(field, v)
  for _, other in ipairs(field.one_of or { v }) do
    if rawequal(v, other) or v == other then return true end
  end
  return false
end

local function words(field)
  if not field.one_of then return wanted(field) end
  local out = {}
  for i, v in ipairs(field.one_of) do out[i] = show(v) end
  return enumerate(out, "or")
end

local says = {}            -- by number: names of the fields of config.json that say it

-- What null, or nothing, is: a class's own value for null (class.lua), or the default.
local function absent(where, field, v)
  if v == null and field.null then return field.null[1] end
  if v == null and field.null == false or field.required and not (v == null and field.nullable) then
    refuse(where, words(field), v == nil and "none" or "null")
  end
  return field.default
end

-- A field's value.  A default that a class states is looked at as what is written.
local function value_of(where, field, v)
  local found
  if v == nil or v == null then
    found = v == nil and "none" or "null"
    v = absent(where, field, v)
    if v == nil or not field.stated then return v end
    found = found .. ", which is " .. show(v)
  end
  local plain = { type = field.type, min = field.min, max = field.max, above = field.above,
                  of = field.of, count = field.count }
  local ok, value = field.type == nil, v
  if field.type == "table" or field.type == "object" then
    ok = type(v) == "table" and (field.type == "table" or #v == 0)
  elseif field.type then
    ok, value = fits(plain, v, where)
  end
  if not ok or not one_of(field, value) then refuse(where, words(field), found or show(v)) end
  if field.layers and value > math.max(request.stored, 200) then -- few say which is missing
    refuse(where, "at most as many layers as there are tensors, " .. request.stored,
      found or show(v))
  end
  if type(value) == "number" then
    says[value] = says[value] and says[value] .. " or " .. where or where
  end
  return value
end

-- Weights that stand for others by a method of their own; nothing says nothing.
local function check_quantized(where, v)
  if v == null then return end
  local method = type(v) == "table" and (v.quant_method or v.quant_algo or v.quantization_method)
  refuse(where, "weights as they are, in float32, bfloat16 or float16", "quantized ones ("
    .. (type(method) == "string" and method or "no method named") .. "): dequantize them first, "
    .. "with the program that quantized them or transformers, and import what that writes")
end

-- Objects that are configurations of a model, of which what is inert is so.
local whole = { [""] = true, text_config = true }

-- fields(config, known, without_effect, where): the values of the known fields, each of which is
-- as in options, { type =, min =, max =, one_of =, required =, default = }; nullable: null will do
-- for one that is required; null: what null means, { value }, or false: it is refused; type
-- "object": an object whose fields are read later.  without_effect: a list of names that nothing
-- computes with.  Any other field is refused.  where: of an object
-- inside config.json; only: of what alone the fields are, "rope_type 'yarn'".
local function fields(given, known, without_effect, where, only)
  local values, also = {}, {}
  local before = where and where .. "." or ""
  for _, name in ipairs(without_effect or {}) do also[name] = true end
  if type(given) ~= "table" or #given > 0 then
    refuse(where or "it", "an object", show(given))
  end
  for name, v in pairs(given) do
    if not known[name] and name == "quantization_config" then check_quantized(before .. name, v)
    elseif not known[name] and not also[name] and name == "text_config" and not where then
      refuse(name, "the configuration of a text model alone", "one inside another: write both what "
        .. "it holds into config.json and its tensors under their names in a text model, or import "
        .. "with --importer FILE.lua")
    elseif not known[name] and not also[name] and not (whole[where or ""] and inert[name]) then
      refuse(before .. name, "only fields that this importer knows"
        .. (only and " with " .. only or ""), show_whole(v)
        .. "; one that is without effect may be removed")
    end
  end
  for name, field in pairs(known) do values[name] = value_of(before .. name, field, given[name]) end
  return values
end

-- }{== Specs as data =========================================================

local quoted = {}          -- metatable of constructors' calls that are written, not made

-- A number that an option does not take is refused by the fields that say it, if any does.
local function check_numbers(what, takes, args)
  for name, v in pairs(args) do
    local field = takes[name] ~= nil and as_field(takes[name]) or {}
    if field.fields and type(v) == "table" and getmetatable(v) == nil then
      check_numbers(what, field.fields, v)
    elseif type(v) == "number" and (field.type or field.any_of) and not fits(field, v, what)
      and says[v] then
      refuse(says[v], wanted(field), show(v))
    end
  end
end

local function quote(name)
  return function(args)
    local constructor = rawget(public, name)
    local takes = constructor and fields_of(constructor)
    if takes and type(args) == "table" then check_numbers(name, takes, args) end
    return setmetatable({ call = name, args = args or {} }, quoted)
  end
end

local function is_quoted(v) return type(v) == "table" and getmetatable(v) == quoted end

-- named("sliding", layer { ... }): what a local of the spec is called, if it is needed.
local function named(name, node)
  node.name = node.name or name
  return node
end

local order = {}
for i, name in ipairs {
  "name", "vocab", "context", "dim", "tokenizer", "embedding", "logits", "norm", "final_norm",
  "residual", "hidden", "activation", "heads", "kv_heads", "head_dim", "tied", "bias", "qk_norm",
  "scale", "window", "softcap", "rope", "theta", "experts", "top", "layers",
} do order[name] = i end

local function by_order(a, b)
  local i, j = order[a] or 1000, order[b] or 1000
  if i ~= j then return i < j end
  return a < b
end

-- What is said though it is the default.
local said = { theta = true, eps = true, tied = true }

local function number_text(x)
  if x - x ~= 0 then refuse("it", "fields that make finite numbers of the spec", show(x)) end
  local i = math.tointeger(x)
  if i then return tostring(i) end
  for digits = 1, 17 do
    local s = ("%." .. digits .. "g"):format(x)
    if tonumber(s) == x then
      local at
      for k = 1, #s do if s:sub(k, k) == "e" then at = k end end
      if not at then return s end
      local sign, rest = s:sub(at + 1, at + 1), s:sub(at + 2)
      while #rest > 1 and rest:sub(1, 1) == "0" do rest = rest:sub(2) end
      return s:sub(1, at) .. (sign == "-" and "-" or "") .. rest
    end
  end
end

local function is_list(t)
  for k in pairs(t) do
    if math.type(k) ~= "integer" then return false end
  end
  return true
end

local write

-- Entries of a table as text, in order; without what is the default.
local function entries(t, known, indent)
  local out, names = {}, {}
  for i = 1, #t do out[i] = write(t[i], nil, indent) end
  for k in pairs(t) do
    if type(k) == "string" then names[#names + 1] = k end
  end
  table.sort(names, by_order)
  for _, name in ipairs(names) do
    local field = known and known[name] ~= nil and as_field(known[name]) or {}
    local v = t[name]
    if field.default == nil or v ~= field.default or said[name] then
      out[#out + 1] = name .. " = " .. write(v, field.fields, indent)
    end
  end
  return out
end

local width = 98

local function braces(list, indent, tall)
  if #list == 0 then return "{}" end
  local line = "{ " .. table.concat(list, ", ") .. " }"
  local fits, i = not tall and #line + #indent + 14 <= width, 0
  while fits and i < #line do
    i = i + 1
    fits = line:sub(i, i) ~= "\n"
  end
  if fits then return line end
  local inner, text, at = indent .. "  ", "{\n" .. indent .. "  ", 0
  for i, s in ipairs(list) do
    local wrap = tall or at + #s + #inner > width
    if i > 1 then text = text .. (wrap and ",\n" .. inner or ", ") end
    at = (wrap and 0 or at) + #s + 2
    text = text .. s
  end
  return text .. ",\n" .. indent .. "}"
end

-- The text of a value; 'known': fields, whose defaults are left out.
function write(v, known, indent)
  if type(v) == "number" then return number_text(v) end
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) == "boolean" then return tostring(v) end
  if type(v) ~= "table" then error("expected what a spec can say, found " .. describe(v)) end
  if v.text then return v.text end
  if not is_quoted(v) then return braces(entries(v, known, indent .. "  "), indent) end
  if v.reference then return v.reference end
  local constructor = rawget(public, v.call)
  local takes = constructor and fields_of(constructor)
  return v.call .. " "
    .. braces(entries(v.args, takes, indent .. "  "), indent, v.call == "layer")
end

-- }{== Layers ================================================================

-- The longest repetition that begins at i: its period and how often.
local function repetition(keys, i, n)
  local best, times, covered = 1, 1, 1
  for p = 1, (n - i + 1) // 2 do
    local k = i + p
    while k <= n and keys[k] == keys[k - p] do k = k + 1 end
    local r = (k - i) // p
    if r >= 2 and r * p > covered then best, times, covered = p, r, r * p end
    if covered == n - i + 1 then break end
  end
  return best, times
end

-- Equal layers as times(n, ...), repeated groups of them too; 'text' by key.
local function compress(keys, first, last, text)
  local out, i = {}, first
  while i <= last do
    local p, r = repetition(keys, i, last)
    if r == 1 then
      out[#out + 1] = text[keys[i]]
    elseif p == 1 then
      out[#out + 1] = "times(" .. r .. ", " .. text[keys[i]] .. ")"
    else
      out[#out + 1] = "times(" .. r .. ", { "
        .. table.concat(compress(keys, i, i + p - 1, text), ", ") .. " })"
    end
    i = i + p * r
  end
  return out
end

-- The distinct layers, by their text, and which is where.
local function kinds_of(layers)
  local keys, kinds, seen = {}, {}, {}
  for i, node in ipairs(layers) do
    local text = write(node, nil, "")
    if not seen[text] then
      kinds[#kinds + 1] = { text = text, name = node.name, node = node }
      seen[text] = #kinds
    end
    keys[i] = seen[text]
  end
  return keys, kinds
end

-- Names of their own for the kinds of layers.
local function name_kinds(kinds)
  local taken = {}
  for i, kind in ipairs(kinds) do
    local name = kind.name or "layer_" .. i
    while taken[name] do name = name .. "_" .. i end
    taken[name], kind.name = true, name
  end
end

-- Lines for definitions, and the text of the list of layers.
local function layers_text(layers)
  local keys, kinds = kinds_of(layers)
  if #kinds == 1 then
    local inner = write(kinds[1].node, nil, "  ")
    return {}, #layers == 1 and "{ " .. inner .. " }" or "times(" .. #layers .. ", " .. inner .. ")"
  end
  name_kinds(kinds)
  local lines, text = {}, {}
  for i, kind in ipairs(kinds) do
    lines[i] = "local " .. kind.name .. " = " .. kind.text
    text[i] = kind.name
  end
  return lines, braces(compress(keys, 1, #keys, text), "  ")
end

-- }{== The whole =============================================================

-- Parts of a model's fields that go on one line.
local rows = {
  { "name" }, { "vocab", "context", "dim" }, { "tokenizer" }, { "embedding" }, { "logits" },
  { "norm" }, { "final_norm" }, { "residual" },
}

local function one_line(text)
  local out = {}
  for i = 1, math.min(#text, 200) do
    local c = text:sub(i, i)
    out[i] = c:byte() < 32 and " " or c
  end
  return table.concat(out)
end

-- A spec's text as lines, from what model { ... } of an importer gave.
local function spec_lines(node, title)
  local args, known, lines, done = node.args, fields_of(public.model), {}, { layers = true }
  local before, layers = layers_text(args.layers)
  lines[1] = "-- " .. one_line(title) .. "; weights in " .. one_line(request.name)
    .. ".safetensors."
  for _, line in ipairs(before) do lines[#lines + 1] = line end
  if #before > 0 then lines[#lines + 1] = "" end
  lines[#lines + 1] = "return model {"
  local function row(names)
    local some = {}
    for _, name in ipairs(names) do some[name], done[name] = args[name], true end
    local list = entries(some, known, "  ")
    if #list > 0 then lines[#lines + 1] = "  " .. table.concat(list, ", ") .. "," end
  end
  for _, names in ipairs(rows) do row(names) end
  for name in pairs(args) do
    if not done[name] then row { name } end
  end
  lines[#lines + 1] = "  layers = " .. layers .. ","
  lines[#lines + 1] = "}"
  return lines
end

local env = {}
for name, value in pairs(public) do
  if core.ops[name] == nil and constructs(value) then env[name] = quote(name) end
end
for _, name in ipairs { "assert", "error", "getmetatable", "ipairs", "math", "next", "pairs",
                        "pcall", "rawequal", "rawget", "rawlen", "rawset", "setmetatable",
                        "string", "table", "tonumber", "tostring", "type" } do
  env[name] = public[name]
end
for _, name in ipairs { "attention", "recurrence" } do
  if constructs(public[name]) then env[name] = quote(name) end
end
for name, f in pairs(core.load("recipes.lua", public)) do env[name] = f end
env.fields, env.refuse, env.null, env.named, env.quote = fields, refuse, null, named, quote
-- The model that this becomes: its name, and the file that its tokenizer is in (nil: none).
env.name, env.tokenizer = request.identifier, request.tokenizer
env.numbers = request.numbers  -- of all tensors: no model has more experts

local loaded = {}

-- builtin "llama": what the library's file import/llama.lua returns.
function env.builtin(name)
  if loaded[name] == nil then
    loaded[name] = core.load("import/" .. name .. ".lua", setmetatable({}, { __index = env }))
  end
  return loaded[name]
end
env.require = request.own and core.requirer(env) or env.builtin
setmetatable(env, { __metatable = false, __index = function(_, name)
  error(unknown("expected a name that is defined", "found '" .. tostring(name) .. "'",
    tostring(name), env))
end })

-- Files of import/ that are no importers.
local helper = { kit = true, common = true, experts = true, class = true, classes = true }

-- Of a model of several parts: what its text model is.
local function inner_kind()
  local inner = request.config.text_config
  local kind = type(inner) == "table" and inner.model_type
  return type(kind) == "string" and ", with text_config.model_type '" .. kind:sub(1, 60) .. "'" or ""
end

-- The importer for the folder's model_type.
local function choose()
  local kind = request.config.model_type
  local known = {}
  for _, file in ipairs(core.importers()) do
    local name = file:sub(#"import/" + 1, -5)
    if name == kind and not helper[name] then return env.builtin(name) end
    if not helper[name] then known[#known + 1] = name end
  end
  refuse("model_type", "one of " .. enumerate(known, "and")
    .. ", or --importer FILE.lua", (kind == nil and "none" or show(kind)) .. inner_kind())
end

-- Another mixer or route, as the command line says it.
local function retrofit(spec)
  if request.residual then spec.args.residual = { text = request.residual } end
  for _, layer in ipairs(request.route and spec.args.layers or {}) do
    layer.args.route = { text = request.route }
  end
end

local function lines_of(result)
  local spec = result.spec
  if is_quoted(spec) and spec.call == "model" then
    spec.args.name = spec.args.name or request.identifier
    spec.args.tokenizer = spec.args.tokenizer or request.tokenizer
    retrofit(spec)
    local names = request.config.architectures
    local title = type(names) == "table" and type(names[1]) == "string" and names[1]
      or tostring(request.config.model_type)
    return spec_lines(spec, title)
  end
  if request.residual or request.route then
    error("importer: expected spec to be model { ... } where " .. (request.residual and "--residual"
      or "--route") .. " changes it, found " .. show(spec))
  end
  if type(spec) == "string" then return { spec } end
  if type(spec) == "table" and not is_quoted(spec) then return spec end
  error("importer: expected spec to be model { ... } or text, found " .. show(spec))
end

-- { spec = lines, names = list, recipes = list, ignore = list, same = list of pairs }
local function run(importer)
  if not request.own then importer = choose() end
  if type(importer) ~= "function" then
    error("importer: expected a function of config and tensors, found " .. show(importer))
  end
  local result = importer(request.config, request.tensors)
  if type(result) ~= "table" then
    error("importer: expected { spec =, tensors = } to be returned, found " .. show(result))
  end
  local out = { spec = lines_of(result), names = {}, recipes = {}, ignore = result.ignore or {},
                same = {} }
  if type(result.tensors) ~= "table" then
    error("importer: expected tensors to be a table, found " .. show(result.tensors))
  end
  for name, made in pairs(result.tensors) do
    out.names[#out.names + 1], out.recipes[#out.recipes + 1] = name, made
  end
  for name, other in pairs(result.same or {}) do out.same[#out.same + 1] = { name, other } end
  return out
end

return { environment = env, run = run }
