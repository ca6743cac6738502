local x = package    --> expected a name that is defined, found 'package'
