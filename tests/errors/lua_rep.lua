local s = ('x'):rep(1e9)    --> rep: expected a string of at most 16384 bytes, found more
