return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    mla { heads = 4, nope_dim = 8, rope_dim = 0, value_dim = 8, latent = 9, rope = {} }          --> mla: expected no rope with rope_dim = 0, found one
  } },
}
