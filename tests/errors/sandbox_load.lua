local x = load    --> expected a name that is defined, found 'load'
