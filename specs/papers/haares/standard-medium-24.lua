-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_medium_24", size = "medium", layers = 24,
  residual = standard {},
}
