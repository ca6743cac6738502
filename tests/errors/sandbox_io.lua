local x = io    --> expected a name that is defined, found 'io'
