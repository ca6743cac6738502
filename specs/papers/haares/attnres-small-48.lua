-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_small_48", size = "small", layers = 48,
  residual = attnres { blocks = 4 },
}
