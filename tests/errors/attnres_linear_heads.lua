return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { full = true, kernel = "linear", heads = 2 },          --> residual: expected one head with kernel 'linear', found 2
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
