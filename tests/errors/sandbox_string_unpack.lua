local x = string.unpack('a', 'a')    --> expected a function to call, found a nil value (field 'unpack')
