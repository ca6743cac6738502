local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = recurrence(x, x, x, { beta = 1 })    --> recurrence: expected the options decay and delta only, found another
