-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "haares_medium_48", size = "medium", layers = 48,
  residual = haares { blocks = 4 },
}
