-- SPDX-License-Identifier: MIT
return require "shared.small"("kimi_small_attnres", attnres { block_size = 6 })
