local x = string.find('a', 'a')    --> expected a function to call, found a nil value (field 'find')
