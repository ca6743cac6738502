-- SPDX-License-Identifier: MIT
return require "shared.small"("kimi_small_haares", haares { block_size = 6 })
