local own = route {
  run = function(r, site, x, body)    --> route_rows_returned: expected run to return a tensor [tokens,8], found [rows1,8] at layers.0
    return body(gather(x, rows(step(reshape(r:linear(site, "a", x, 1), {}))))) end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
