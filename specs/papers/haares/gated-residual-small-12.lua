-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "gated_residual_small_12", size = "small", layers = 12,
  residual = gated_residual { streams = 4, rank = 16 },
}
