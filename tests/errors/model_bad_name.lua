return model {
  name = "2nd-model", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }    --> model: expected name to be a name of at most 64 letters, digits and '_', found the string '2nd-model'
}
