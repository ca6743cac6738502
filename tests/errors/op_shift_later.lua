local y = shift(random(4), -1)    --> shift: expected a number of tokens from 0 to 2147483647, found -1
