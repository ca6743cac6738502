local y = 'a' .. {}    --> expected a string or number to join with '..', found a table value
