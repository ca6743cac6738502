local x = string.gmatch('a', 'a')    --> expected a function to call, found a nil value (field 'gmatch')
