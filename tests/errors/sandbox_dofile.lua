local x = dofile    --> expected a name that is defined, found 'dofile'
