-- SPDX-License-Identifier: MIT
return require "shared.small" {
  name = "small_bilayer", layout = "bilayer",
  route = dtr {}, penalty = 8e-4,
}
