local t = {}
local function f() for i = 1, math.huge do t[i] = { i } end end    --3> expected to need at most 8000000 bytes of memory, found more
while true do pcall(f) end
