local x = loadstring    --> expected a name that is defined, found 'loadstring'
