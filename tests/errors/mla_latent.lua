return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    mla { heads = 4, nope_dim = 8, rope_dim = 4, value_dim = 8 }          --> mla: expected the field 'latent', an integer from 1 to 1048576, found none
  } },
}
