local x = string.dump('a', 'a')    --> expected a function to call, found a nil value (field 'dump')
