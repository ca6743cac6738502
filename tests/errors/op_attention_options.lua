local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = attention(x, x, x, { windows = 4 })    --> attention: expected the options causal, scale, chunk, pools, window, softcap and by_distance only, found another
