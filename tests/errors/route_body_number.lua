local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(x, 3)                --> route_body_number: expected body(x, { rows = list }), found the number 3
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
