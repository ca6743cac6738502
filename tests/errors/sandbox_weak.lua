setmetatable({}, { __mode = 'k' })    --> setmetatable: expected no __mode, found one
