-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_bilayer_last_dense", size = "360M", layout = "bilayer",
  route = dtr {}, dense_last = true,
}
