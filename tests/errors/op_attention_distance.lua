local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { by_distance = reshape(wave { 1, 2 }, { 2, 1 }) })    --> attention: expected operands that fit (q has 1 heads and by_distance 2), found
