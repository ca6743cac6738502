local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { chunk = 0 })    --> attention: expected chunk from 1 to 2147483647, found 0
