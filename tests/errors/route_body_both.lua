local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(x, { rows = rows(z), keys = rows(z) })     --> route_body_both: expected body to get rows, of tokens that work, or keys, of tokens that others see, found both
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
