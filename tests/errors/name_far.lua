local y = transmogrify    --> expected a name that is defined, found 'transmogrify'
