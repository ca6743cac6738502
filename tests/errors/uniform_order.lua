local u = uniform(2, 1)    --> uniform: expected two numbers, the first not above the second, found the number 2 and the number 1
