-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_small_12", size = "small", layers = 12,
  residual = haares { blocks = 4 },
}
