-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_skip", size = "1.3B", layout = "trilayer",
  route = dtr { choice = "skip" },
}
