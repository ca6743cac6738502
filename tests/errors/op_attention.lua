local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, wave { 1 })    --> attention: expected operands that fit (v must be [tokens,heads,e], not [tokens,1]), found [tokens,1,2] (
