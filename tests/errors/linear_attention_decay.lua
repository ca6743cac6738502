return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer { linear_attention { heads = 4, decay = "slow" } } },    --> linear_attention: expected decay to be 'none', 'fixed', 'head' or 'channel', found the string 'slow'
}
