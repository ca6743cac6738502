local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(x, { row = rows(z) })                --> route_body_field: expected body to get rows, mask, bypass, keys or what a sublayer reads in site.routed, found 'row'; did you mean 'rows'?
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
