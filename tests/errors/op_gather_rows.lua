local own = route {
  run = function(r, site, x, body)
    return x + body(gather(x, position())) end }    --> gather: expected operands that fit (the second operand must be what rows() returned)
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
