-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_small_48", size = "small", layers = 48,
  residual = standard {},
}
