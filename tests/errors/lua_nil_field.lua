local t = {} local y = t.a.b    --> expected a table or tensor to index, found a nil value (field 'a')
