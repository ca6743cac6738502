local y = math.floor('x')    --> floor: argument 1: expected number, found string
