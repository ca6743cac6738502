return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 1, gamma = 0.5 },          --> haares: expected gamma to be a number of at least 1, found the number 0.5
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
