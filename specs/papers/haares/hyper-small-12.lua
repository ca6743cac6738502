-- SPDX-License-Identifier: MIT
return require "shared.paper" {
  name = "hyper_small_12", size = "small", layers = 12,
  residual = hyper { streams = 4 },
}
