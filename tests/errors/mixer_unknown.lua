local mine = mixer { opens = assert }    --> mixer: expected fields out of check, close, open, options, prenorm, read and write, found 'opens'; did you mean 'open'?
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  residual = mine {}, layers = times(2, layer { mlp { hidden = 8 } }),
}
