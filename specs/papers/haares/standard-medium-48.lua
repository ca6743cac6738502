-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "standard_medium_48", size = "medium", layers = 48,
  residual = standard {},
}
