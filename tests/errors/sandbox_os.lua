local x = os    --> expected a name that is defined, found 'os'
