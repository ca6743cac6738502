local l = layer { mlp { hidden = 8 } }
local m = times(200, times(200, l))    --3> times: expected at most 10000 layers, found 40000
