return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    relative_attention { heads = 4, kv_heads = 3, head_dim = 8, extent = 9 }          --> relative_attention: expected kv_heads to divide heads = 4, found 3
  } },
}
