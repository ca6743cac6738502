local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { pools = 4 })    --> attention: expected pools with causal = false only, found it with causal = true
