local x = loadfile    --> expected a name that is defined, found 'loadfile'
