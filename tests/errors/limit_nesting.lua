local t = {}
setmetatable(t, { __tostring = function() return tostring(t) .. "." end })    --3> expected calls nested less deeply, found
local s = tostring(t)
