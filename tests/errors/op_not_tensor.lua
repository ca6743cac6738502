local y = exp('hello')    --> exp: expected a tensor or a number as argument 1, found a string
