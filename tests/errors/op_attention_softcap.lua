local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { softcap = -2 })    --> attention: expected softcap to be above 0, found -2
