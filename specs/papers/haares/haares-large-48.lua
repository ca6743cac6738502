-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_large_48", size = "large", layers = 48,
  residual = haares { blocks = 4 },
}
