-- Experts in groups, of which the best two stay (DeepSeek-V3, arXiv 2412.19437).
return model {
  name = "expert_groups", vocab = 11, context = 9, dim = 8,
  norm = rmsnorm { eps = 1e-6 },
  layers = times(2, layer {
    attention { heads = 2, rope = {} },
    moe { experts = 8, top = 3, hidden = 6, groups = 4, top_groups = 2, scale = 2.5, shared = 1 },
  }),
}
