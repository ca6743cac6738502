-- SPDX-License-Identifier: MIT
return require "shared.small"("kimi_small_standard", standard {})
