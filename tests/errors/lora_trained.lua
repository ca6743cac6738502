return model {    --> lora.trained: expected patterns that match a parameter's name, found 'norm', which matches none; the nearest is 'embed.weight'
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } }, lora = { rank = 2, targets = { "*.q" }, trained = { "norm" } },
  train = {  },
}
