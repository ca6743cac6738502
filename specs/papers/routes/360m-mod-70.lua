-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_mod_70", size = "360M", layout = "bilayer",
  route = mod { capacity = 0.7 },
}
