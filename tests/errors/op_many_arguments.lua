local y = exp(1, 2)    --> exp: expected 1 arguments, found 2
