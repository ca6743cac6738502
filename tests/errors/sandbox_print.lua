local x = print    --> expected a name that is defined, found 'print'
