return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = attnres { full = true, kernel = "linear", query = "static" },          --> residual: expected a query with kernel 'linear', found static logits
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
