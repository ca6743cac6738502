local x = xpcall    --> expected a name that is defined, found 'xpcall'
