return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } }, lora = lora { rank = 2, targets = {} },    --> lora: expected targets, patterns such as '*.attention.q', found none
  train = {  },
}
