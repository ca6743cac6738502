-- Every form of attention and mlp, in layers of different kinds.
return model {
  name = "rotations", vocab = 13, context = 12, dim = 12,
  norm = layernorm { eps = 1e-5 },
  embedding = { tied = false, positions = "learned" },
  layers = {
    layer { attention { heads = 4, kv_heads = 2, qk_norm = true, head_dim = 6, rope = { style = "interleaved", theta = 500 } },
            mlp { hidden = 10, activation = "gelu", bias = true } },
    layer { attention { heads = 2, bias = true, rope = { yarn = { factor = 4, original = 6 } } },
            mlp { hidden = 7, activation = "silu" } },
    layer { mlp { hidden = 9, activation = "relu" } },
    layer { attention { heads = 3, causal = false }, mlp { hidden = 8 } },
  },
}
