return model {    --> lora: expected targets that match a product of m:linear, found '*.attention.w', which matches none; the nearest is 'layers.0.attention.k'
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } }, lora = lora { rank = 2, targets = { "*.attention.w" } },
  train = {  },
}
