local u = uniform(0, 1, math.log)    --> uniform: expected a function to finite numbers, found the number -inf at 0.0
