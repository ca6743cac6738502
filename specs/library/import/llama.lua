-- LlamaForCausalLM: Llama 1 to 3, SmolLM, TinyLlama and many more.
local common = builtin "common"

return function(config, tensors)
  local c = fields(config, common.known())
  local d, heads = common.heads(c)
  heads.bias = c.attention_bias
  heads.rope = common.rope(c, { head_dim = d })
  local block = layer {
    attention(heads),
    mlp { hidden = c.intermediate_size, bias = c.mlp_bias,
          activation = common.activation("hidden_act", c.hidden_act, true) },
  }
  local layers = {}
  for i = 1, c.num_hidden_layers do layers[i] = block end
  return common.result(c, tensors, common.decoder(c, tensors), model {
    vocab = c.vocab_size, context = c.max_position_embeddings, dim = c.hidden_size,
    embedding = { tied = c.tie_word_embeddings },
    norm = rmsnorm { eps = c.rms_norm_eps },
    layers = layers,
  })
end
