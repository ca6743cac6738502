return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4, window = 8 },          --> attention: expected no window and no sinks where a route chooses the keys, found a window
    route = dllm { hidden = 5 },
  } },
}
