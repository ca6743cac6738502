local x = _G    --> expected a name that is defined, found '_G'
