return model {    --> model.lora: expected the field 'rank', an integer from 1 to 65536, found none
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } }, lora = { targets = { "*.q" } },
  train = {  },
}
