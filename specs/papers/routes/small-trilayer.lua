-- SPDX-License-Identifier: MIT
return require "shared.small" {
  name = "small_trilayer", layout = "trilayer",
  route = dtr {}, penalty = 8e-4,
}
