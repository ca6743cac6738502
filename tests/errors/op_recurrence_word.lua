local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = recurrence(x, x, x, { delta = true })    --> recurrence: expected delta to be a tensor or a number, found a boolean
