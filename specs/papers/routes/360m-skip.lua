-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_skip", size = "360M", layout = "trilayer",
  route = dtr { choice = "skip" },
}
