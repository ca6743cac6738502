-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_expert", size = "360M", layout = "bilayer",
  route = dtr { choice = "expert", capacity = 0.25 },
}
