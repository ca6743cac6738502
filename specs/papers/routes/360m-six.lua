-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_six", size = "360M", layout = "six",
  route = dtr {},
}
