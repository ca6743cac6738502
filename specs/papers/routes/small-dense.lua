-- SPDX-License-Identifier: MIT
return require "shared.small" { name = "small_dense", layout = "dense" }
