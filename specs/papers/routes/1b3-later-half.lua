-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_later_half", size = "1.3B", layout = "later_half",
  route = dtr {},
}
