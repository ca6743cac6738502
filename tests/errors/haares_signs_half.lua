return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 1, signs = { 1, 1 } },          --> haares: expected signs, 2 of them, with detail = 'random' and only then, found 2
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
