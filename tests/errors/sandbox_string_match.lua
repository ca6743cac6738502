local x = string.match('a', 'a')    --> expected a function to call, found a nil value (field 'match')
