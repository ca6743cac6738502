local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, wave { 1 })    --> attention: expected operands that fit (
