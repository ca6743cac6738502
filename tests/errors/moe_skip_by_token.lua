return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer { moe { experts = 4, top = 1, hidden = 8, skip = true, by_token = true } } },  --> moe: expected no skip with by_token, whose table says which experts, found it
}
