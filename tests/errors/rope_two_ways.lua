return model {
  name = 'a', vocab = 8, context = 8, dim = 8, norm = rmsnorm {},
  layers = times(1, layer {
    attention { heads = 2, rope = { linear = 2, yarn = { factor = 2, original = 8 } } },     --> attention: expected one of linear, yarn, llama3 and longrope in rope, found linear and yarn
  }),
}
