return model {
  name = 'a', vocab = 8, context = 8, dim = 8, norm = rmsnorm {},
  layers = times(1, layer {
    attention { heads = 2, rope = { longrope = { short = { 1, 2 }, long = { 1 }, original = 8 } } },     --> attention: expected rope.longrope.long to be 2 numbers, one for each two channels that turn, found 1
  }),
}
