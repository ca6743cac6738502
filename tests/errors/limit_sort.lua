local t = {} for i = 1, 2000 do t[i] = i end
table.sort(t, function(a, b) for i = 1, 1e9 do end end)    --3> expected at most 2000000 instructions, found more
