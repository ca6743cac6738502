local y = reshape(wave { 1, 2 }, { 3 })    --> reshape: expected an operand that fits (
