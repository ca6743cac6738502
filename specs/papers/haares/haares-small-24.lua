-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_small_24", size = "small", layers = 24,
  residual = haares { blocks = 4 },
}
