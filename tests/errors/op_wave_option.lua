local y = wave({ 1 }, { cosine = true })    --> wave: expected the options sine and scale only, found another
