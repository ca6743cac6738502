return model {
  name = 'a', vocab = 8, context = 8, dim = 8, norm = rmsnorm {},
  layers = times(1, layer {
    attention { heads = 2, rope = { llama3 = { factor = 2, original = 8, low = 4, high = 1 } } },     --> attention: expected rope.llama3.low to be below high = 1, found 4
  }),
}
