-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_medium_48", size = "medium", layers = 48,
  residual = attnres { blocks = 4 },
}
