local own = route {
  run = function(r, site, x, body)
    return x * reshape(top(reshape(r:linear(site, "a", x, 1), {}), 1.5), { 1 }) + body(x) end }    --> top: expected an operand that fits (the share must be above 0 and at most 1, not 1.5)
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
