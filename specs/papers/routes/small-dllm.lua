-- SPDX-License-Identifier: MIT
return require "shared.small" {
  name = "small_dllm", layout = "after_two",
  route = dllm { hidden = 64, target = 0.7, weight = 1 },
}
