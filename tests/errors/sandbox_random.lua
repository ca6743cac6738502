local x = math.random()    --> expected a function to call, found a nil value (field 'random')
