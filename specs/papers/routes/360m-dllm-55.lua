-- SPDX-License-Identifier: MIT
return require "shared.smollm" {
  name = "routed_360m_dllm_55", size = "360M", layout = "after_two",
  route = dllm { target = 0.55, weight = 1 },
}
