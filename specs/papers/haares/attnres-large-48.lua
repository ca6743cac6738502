-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "attnres_large_48", size = "large", layers = 48,
  residual = attnres { blocks = 4 },
}
