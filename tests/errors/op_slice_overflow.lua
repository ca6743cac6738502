local y = slice(wave { 1, 2 }, 1, 2, math.maxinteger)    --> slice: expected elements from 1 to 2, found 9223372036854775807 from 2 on
