local function some(r) return layer { attention { heads = 2, value_residual = true }, route = r } end --> kept: expected 'values' of all tokens that are worked on, found [rows1,2,4] of a route's list, which has none of the others
return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { some(mod { capacity = 0.5 }), some() },
}
