local u = uniform(0, 1, 3)    --> uniform: expected a function third, found the number 3
