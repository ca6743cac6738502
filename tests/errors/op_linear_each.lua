local x = reshape(wave { 1, 2 }, { 1, 2 })
local y = linear_each(x, x, { first = 2 })    --> linear_each: expected rows from 1 to 1, found 0 from 2 on
