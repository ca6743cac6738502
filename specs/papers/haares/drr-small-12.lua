-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "drr_small_12", size = "small", layers = 12,
  residual = drr { heads = 8, causal = true, chunk = 32 },
}
