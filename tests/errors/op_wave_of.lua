local y = wave({ 1 }, { of = 5 })    --> wave: expected of to be a tensor of tokens, found a number
