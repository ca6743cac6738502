local t = {} local y = t + 1    --> expected a number or tensor to calculate with, found a table value (local 't')
