local own = route {
  run = function(r, site, x, body)
    local z = reshape(r:linear(site, "a", x, 1), {})
    local a, b = gather(x, rows(step(z))), gather(x, rows(step(-z)))
    return x + body(a + b) end }    --> add: expected operands that fit (rows of different tokens do not mix
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
