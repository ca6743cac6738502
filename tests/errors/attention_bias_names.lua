return model {
  name = 'a', vocab = 8, context = 8, dim = 8, norm = rmsnorm {},
  layers = times(1, layer {
    attention { heads = 2, bias = { "q", "x" } },     --> attention: expected bias to be true or false or a list of values, each 'q', 'k', 'v' or 'o', found a table
  }),
}
