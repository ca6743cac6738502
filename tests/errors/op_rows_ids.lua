local own = route {
  run = function(r, site, x, body)
    local w = r:param(site, "w", { 8, 8 }, 0)
    return body(x) + embed(w, rows(step(reshape(r:linear(site, "a", x, 1), {})))) end }    --> embed: expected operands that fit (what rows() returned is for gather and scatter only)
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { mlp { hidden = 8 }, route = own {} } },
}
