local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { window = 4 })    --> attention: expected the options causal, scale, chunk and pools only, found another
