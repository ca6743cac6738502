local function f() while true do end end    --3> expected at most 2000000 instructions, found more
while true do pcall(f) end
