return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    mla { heads = 4, nope_dim = 8, rope_dim = 4, value_dim = 8, latent = 9 },          --> mla: expected no route that chooses the keys, found one
    route = dllm { hidden = 5 },
  } },
}
