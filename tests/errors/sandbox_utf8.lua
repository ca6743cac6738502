local x = utf8    --> expected a name that is defined, found 'utf8'
