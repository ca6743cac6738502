-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_trilayer", size = "360M", layout = "trilayer",
  route = dtr {},
}
