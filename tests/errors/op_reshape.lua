local y = reshape(wave { 1, 2 }, { 3 })    --> reshape: expected an operand that fits ([tokens,2] has 2 elements, [tokens,3] would have 3), found [tokens,2] (
