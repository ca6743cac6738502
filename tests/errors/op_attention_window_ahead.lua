local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { causal = false, window = 4 })    --> attention: expected operands that fit (a window is of causal keys, not of averages or of later ones too)
