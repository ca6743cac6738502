return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = haares { blocks = 1, bias = "none" },          --> haares: expected bias to be a number or 'learned', found the string 'none'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
