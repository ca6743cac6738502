setmetatable(_ENV, nil)    --> setmetatable: expected a table whose metatable may be changed, found a protected one
