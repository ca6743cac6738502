return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = drr { heads = 4, query = "static" },          --> drr: expected query to be 'input' or 'learned', found the string 'static'
  layers = { layer {
    attention { heads = 4, causal = false }, mlp { hidden = 48 },
  } },
}
