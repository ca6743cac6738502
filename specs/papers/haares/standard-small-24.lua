-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_small_24", size = "small", layers = 24,
  residual = standard {},
}
