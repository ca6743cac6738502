-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_small_48", size = "small", layers = 48,
  residual = haares { blocks = 4 },
}
