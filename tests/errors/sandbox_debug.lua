local x = debug    --> expected a name that is defined, found 'debug'
