local l = times(1e6, layer { mlp { hidden = 8 } })    --3> times: expected at most 10000 layers, found 1000000
