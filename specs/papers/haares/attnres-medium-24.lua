-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_medium_24", size = "medium", layers = 24,
  residual = attnres { blocks = 4 },
}
