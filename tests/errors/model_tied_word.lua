return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, embedding = { tied = "yes" }    --> model.embedding: expected tied to be true or false, found the string 'yes'
}
