return model {          --> tokenizer: expected a file 'absent/tokenizer.json' in the spec's folder, found none
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, tokenizer = "absent/tokenizer.json"
}
