-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_bilayer", size = "360M", layout = "bilayer",
  route = dtr {},
}
