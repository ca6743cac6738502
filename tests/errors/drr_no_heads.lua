return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { window = 2 },          --> drr: expected the field 'heads', a positive integer, found none
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
