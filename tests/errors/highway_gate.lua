return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = highway { gate = "matrix" },          --> highway: expected gate to be 'vector' or 'scalar', found the string 'matrix'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
