return model {          --> model: expected the field 'name', a name of at most 64 letters, digits and '_', found none
  vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }
}
