local y = tokens() + 1    --> add: expected operands that fit (
