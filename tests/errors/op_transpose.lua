local y = transpose(wave { 1, 2 }, { 2 })    --> transpose: expected axes from 1 to 1, found 2
