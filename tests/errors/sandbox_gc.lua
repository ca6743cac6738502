setmetatable({}, { __gc = function() while true do end end })    --> setmetatable: expected no __gc, found one
