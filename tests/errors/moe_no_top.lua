return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    moe { experts = 8, hidden = 16 }  --> moe: expected the field 'top', a positive integer, found none
  } },
}
