-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_dllm_55", size = "1.3B", layout = "after_two",
  route = dllm { target = 0.55, weight = 1 },
}
