-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_large_48", size = "large", layers = 48,
  residual = standard {},
}
