return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { moe { experts = 4, top = 1, hidden = 8, groups = 2, by_token = true } } },  --> moe: expected no groups with by_token, whose table says which experts, found 2
}
