local own = route {
  run = function(r, site, x, body) return x end }    --> route_no_body: expected run to call body once, found no call
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
