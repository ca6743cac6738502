-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_medium_12", size = "medium", layers = 12,
  residual = standard {},
}
