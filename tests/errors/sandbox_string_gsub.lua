local x = string.gsub('a', 'a')    --> expected a function to call, found a nil value (field 'gsub')
