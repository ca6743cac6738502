local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(x, { mask = step(z) })                --> route_body_mask: expected body to get rows or keys with a mask, found neither
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
