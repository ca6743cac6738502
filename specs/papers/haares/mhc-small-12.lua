-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "mhc_small_12", size = "small", layers = 12,
  residual = mhc { streams = 4 },
}
