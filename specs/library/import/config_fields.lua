-- SPDX-License-Identifier: MIT
-- Reading config.json for importers: the fields that one knows, and errors of the folder.  Its
-- environment is the library's; kit.lua gives it the request.
local request = ...
local null = request.null

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

return { fields = fields, refuse = refuse, show = show, says = says }
