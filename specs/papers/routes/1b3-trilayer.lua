-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_trilayer", size = "1.3B", layout = "trilayer",
  route = dtr {},
}
