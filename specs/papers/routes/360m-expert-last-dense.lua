-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_expert_last_dense", size = "360M", layout = "bilayer",
  route = dtr { choice = "expert", capacity = 0.25 }, dense_last = true,
}
