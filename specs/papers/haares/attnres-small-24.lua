-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_small_24", size = "small", layers = 24,
  residual = attnres { blocks = 4 },
}
