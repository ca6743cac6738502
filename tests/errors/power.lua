local own = sublayer {
  forward = function(m, site, x)
    return x ^ x    --> ^: expected a tensor and a number, found tensor [tokens,16] as its exponent
  end,
}
return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { own { name = "own" } } },
}
