return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { attention { heads = 2 }, mlp { hidden = 8 } } },
  train = { optimizer = muon { adjust = "rms" } },    --> muon: expected adjust to be 'original' or 'match_rms_adamw', found the string 'rms'
}
