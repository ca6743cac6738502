local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(x, { rows = rows(z), bypass = 'no' })    --> route_body_bypass: expected body to get bypass = 'vo', 'none' or 'auto', found the string 'no'
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
