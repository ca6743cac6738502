return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 1, detail = "random", signs = { 1, 0 } },          --> haares: expected signs to be a list of values, each 1 or -1, found a table
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
