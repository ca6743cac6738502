local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { causal = false, chunk = 4 })    --> attention: expected chunk with causal = true only, found it with causal = false
