-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_medium_12", size = "medium", layers = 12,
  residual = attnres { blocks = 4 },
}
