-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_1b3_dllm_85", size = "1.3B", layout = "after_two",
  route = dllm { target = 0.85, weight = 1 },
}
