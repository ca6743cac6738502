local y = stack { wave { 1 }, wave { 1, 2 } }    --> stack: expected operands that fit (
