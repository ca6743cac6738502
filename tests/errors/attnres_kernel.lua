return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { full = true, kernel = "relu" },          --> attnres: expected kernel to be 'softmax', 'sigmoid' or 'linear', found the string 'relu'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
