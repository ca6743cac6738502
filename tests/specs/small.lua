-- A model small enough for the interpreter, ragged enough to matter.
return function(o)
  return model {
    name = o.name, vocab = 19, context = 8, dim = 12, embedding = o.embedding, norm = o.norm or rmsnorm { eps = 1e-5 },
    residual = o.residual,
    layers = {
      layer { attention { heads = 3, rope = { theta = 100 } }, mlp { hidden = 10 } },
      layer { mlp { hidden = 7, activation = "gelu" } },
      layer { attention { heads = 6, kv_heads = 2, qk_norm = true, bias = o.bias }, mlp { hidden = 10, activation = "relu", bias = o.bias } },
    },
  }
end
