-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_later_half", size = "360M", layout = "later_half",
  route = dtr {},
}
