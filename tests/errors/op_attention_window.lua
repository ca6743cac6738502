local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { window = 0 })    --> attention: expected window from 1 to 2147483647, found 0
