-- SPDX-License-Identifier: MIT
return require "shared.smollm" { name = "routed_1b3_dense", size = "1.3B", layout = "dense" }
