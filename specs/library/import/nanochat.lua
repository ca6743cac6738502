-- SPDX-License-Identifier: MIT
-- NanoChatForCausalLM: norms without gains, of the embedding too, and of queries and keys behind a
-- rotation by the negative angle; an MLP without gates; capped logits.
local common, class = builtin "common", builtin "class"

return function(config, tensors)
  local c = class.fields("nanochat", config, common.known {
    mlp_bias = false, final_logit_softcapping = common.fraction,
  }, nil, { "head_dim" })
  local d, heads = common.heads(c)
  heads.bias = c.attention_bias
  heads.qk_norm = { after_rope = true, gain = false }
  heads.rope = common.with(common.rope(c, { head_dim = d }), { direction = "backward" })
  local block = layer {
    attention(heads),
    mlp { hidden = c.intermediate_size,
          activation = common.activation("hidden_act", c.hidden_act, false) },
  }
  local out = common.decoder(c, tensors,
    { norms = {}, final = false, mlp = { up = "fc1", down = "fc2" } })
  return common.result(c, tensors, out,
    common.model(c, common.layers(c, function() return block end), {
      norm = rmsnorm { eps = c.rms_norm_eps, gain = false },
      embedding = { tied = c.tie_word_embeddings, norm = true },
      logits = c.final_logit_softcapping and { softcap = c.final_logit_softcapping } or nil,
    }))
end
