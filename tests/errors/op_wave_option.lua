local y = wave({ 1 }, { cosine = true })    --> wave: expected the options sine, scale and of only, found another
