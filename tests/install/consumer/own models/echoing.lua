-- SPDX-License-Identifier: MIT
-- A model with a mixer from a file beside it.
return model {
  name = "echoing", vocab = 17, context = 8, dim = 16,
  norm = rmsnorm { eps = 1e-6 },
  residual = require "half" {},
  layers = { layer { attention { heads = 2 }, mlp { hidden = 24 } } },
}
