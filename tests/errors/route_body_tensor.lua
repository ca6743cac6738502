local own = route { sublayer = 'mlp', run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(gather(x, rows(z)))                --> route_body_tensor: expected body { rows = list }, found a tensor [rows1,8]
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
