local x = string.pack('a', 'a')    --> expected a function to call, found a nil value (field 'pack')
