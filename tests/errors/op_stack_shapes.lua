local y = stack { wave { 1 }, wave { 1, 2 } }    --> stack: expected operands that fit (shapes [tokens,1] and [tokens,2] (operand 1) do not fit together), found [tokens,1] (
