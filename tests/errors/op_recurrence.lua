local x = reshape(wave { 1, 2, 3, 4 }, { 2, 2 })
local y = recurrence(x, x, x, { decay = wave { 1, 2, 3 } })    --> recurrence: expected operands that fit (decay must be [tokens,2] or [tokens,2,2], not [tokens,3]), found
