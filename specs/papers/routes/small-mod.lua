-- SPDX-License-Identifier: MIT
return require "shared.small" {
  name = "small_mod", layout = "bilayer",
  route = mod { capacity = 0.5 },
}
