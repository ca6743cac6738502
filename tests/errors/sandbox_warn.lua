local x = warn    --> expected a name that is defined, found 'warn'
