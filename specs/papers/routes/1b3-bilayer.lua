-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_bilayer", size = "1.3B", layout = "bilayer",
  route = dtr {},
}
