return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer { kda { heads = 5 } } },    --> kda: expected heads to divide dim = 32 or a head_dim, found 5 heads
}
