local y = exp(math.huge)    --> exp: expected a finite number as argument 1, found inf
