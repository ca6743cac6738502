local y = blocks { 1 }    --> expected a name that is defined, found 'blocks'
