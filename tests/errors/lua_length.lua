local y = #5    --> expected a table or string to take the length of, found a number value
