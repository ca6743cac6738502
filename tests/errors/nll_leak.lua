local peeks = sublayer {
  forward = function(m, site, x)
    return x * reshape(m:nll(x), { 1 })    --> nll: expected it to be part of a loss alone, found it in what the model predicts
  end,
}
return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {},
  layers = times(2, layer { peeks {} }),
}
