local own = route {  run = function(r, site, x, body)
  local z = reshape(r:linear(site, "router", x, 1), {})
  return body(x, { rows = rows(z), bypass = 'vo' })    --> route_body_vo: expected bypass = 'none', or 'auto', which is 'vo' where a sublayer passes values on as attention does, found 'vo' at layers.0.mlp
end }
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
