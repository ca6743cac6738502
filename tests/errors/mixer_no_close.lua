local mine = mixer { open = assert, }    --> mixer: expected the field 'close', a function, found none
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
