return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = {
    layer { attention { heads = 4, value_residual = true } },
    layer { attention { heads = 2, value_residual = true } },    --> attention: expected values as the first layer with value_residual has them, [4,4], found [2,8]
  },
}
