-- SPDX-License-Identifier: MIT
return require "shared.smollm" { name = "routed_360m_dense", size = "360M", layout = "dense" }
