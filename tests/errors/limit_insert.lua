local t = {}
while true do table.insert(t, 1, 0) end    --3> expected at most 2000000 instructions, found more
