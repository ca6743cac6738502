local l = times(0, layer { mlp { hidden = 8 } })    --> times: expected a positive integer first, found the number 0
