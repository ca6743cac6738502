-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_mod_12", size = "1.3B", layout = "bilayer",
  route = mod { capacity = 0.125 },
}
