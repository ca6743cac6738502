return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = hyper { dynamic = false },          --> hyper: expected the field 'streams', an integer from 1 to 256, found none
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
