return model {
  name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {},
  layers = { layer {
    shared_attention { heads = 2, head_dim = 4, q_latent = 4, out_groups = 1, out_rank = 2, compress = { rate = 2 } },  --> shared_attention: expected no compress where a route has some tokens work only, found it
    route = mod { capacity = 0.5 } } },
}
