local x = = 3    --> expected valid Lua, found unexpected symbol near '='
