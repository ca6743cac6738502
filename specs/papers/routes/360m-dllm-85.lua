-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_dllm_85", size = "360M", layout = "after_two",
  route = dllm { target = 0.85, weight = 1 },
}
