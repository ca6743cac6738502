for k in pairs { [{}] = 1 } do end    --> pairs: expected keys that are numbers, strings or booleans, found a table
