local l = times(layer { mlp { hidden = 8 } }, 3)    --> times: expected a positive integer first, found a layer
