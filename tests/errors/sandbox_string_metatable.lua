getmetatable('').__index = {}    --> expected a table or tensor to index, found a boolean value
