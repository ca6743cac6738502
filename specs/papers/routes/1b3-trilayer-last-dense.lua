-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_trilayer_last_dense", size = "1.3B", layout = "trilayer",
  route = dtr {}, dense_last = true,
}
