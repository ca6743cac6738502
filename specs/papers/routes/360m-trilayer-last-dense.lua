-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_trilayer_last_dense", size = "360M", layout = "trilayer",
  route = dtr {}, dense_last = true,
}
