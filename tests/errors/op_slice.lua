local y = slice(wave { 1, 2 }, 1, 2, 2)    --> slice: expected elements from 1 to 2, found 2 from 2 on
