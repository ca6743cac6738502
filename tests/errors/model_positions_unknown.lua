return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, embedding = { positions = "sin" }    --> model.embedding: expected positions to be 'learned', found the string 'sin'
}
