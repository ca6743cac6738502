-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_mod_12", size = "360M", layout = "bilayer",
  route = mod { capacity = 0.125 },
}
