return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    moe { experts = 4, top = 2, hidden = 8, shared_gate = true }          --> moe: expected a shared expert with shared_gate, found none
  } },
}
