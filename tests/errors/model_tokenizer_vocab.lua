return model {          --> model: expected vocab to be at least 256 with tokenizer 'bytes', found 100
  name = "m", vocab = 100, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, tokenizer = "bytes"
}
