-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_medium_24", size = "medium", layers = 24,
  residual = haares { blocks = 4 },
}
