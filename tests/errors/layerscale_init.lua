return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  residual = layerscale { init = "small" },          --> layerscale: expected init to be a number or 'residual', found the string 'small'
  layers = { layer {
    attention { heads = 4 }, mlp { hidden = 48 },
  } },
}
