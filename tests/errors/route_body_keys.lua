local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  local list = rows(z) return x + scatter(body(gather(x, list), { keys = rows(-z) }), list)   --> route_body_keys: expected all tokens with keys, found body to work on some
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { attention { heads = 2 }, route = own {} } },
}
