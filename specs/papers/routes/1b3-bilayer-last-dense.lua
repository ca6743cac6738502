-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_bilayer_last_dense", size = "1.3B", layout = "bilayer",
  route = dtr {}, dense_last = true,
}
