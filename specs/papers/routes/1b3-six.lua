-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_six", size = "1.3B", layout = "six",
  route = dtr {},
}
