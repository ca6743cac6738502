-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_medium_12", size = "medium", layers = 12,
  residual = haares { blocks = 4 },
}
