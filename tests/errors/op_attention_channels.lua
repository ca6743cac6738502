local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, 3)    --> attention: expected 1 to 2 channels of keys as values, found 3
