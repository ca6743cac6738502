local s = (''):rep(2 ^ 62)    --> rep: expected a string of at most 16384 bytes, found more
