return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = times(30, layer {
    moe { experts = 4096, top = 2, hidden = 16 }  --> param: expected at most 100000 tensors in all, found 368732
  }),
}
