-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_small_12", size = "small", layers = 12,
  residual = standard {},
}
