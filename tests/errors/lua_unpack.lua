local t = {} for i = 1, 300 do t[i] = i end local a = table.unpack(t)    --> unpack: expected at most 250 values, found more
