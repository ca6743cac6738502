local t = {} t.f()    --> expected a function to call, found a nil value (field 'f')
