return model {          --> tokenizer: expected a path inside the spec's folder, found '../tokenizer.json'
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, tokenizer = "../tokenizer.json"
}
