-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_small_12", size = "small", layers = 12,
  residual = attnres { blocks = 4 },
}
