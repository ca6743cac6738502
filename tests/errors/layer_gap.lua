local l = layer { [3] = mlp { hidden = 8 } }    --> layer: expected a list of sublayers without gaps, found one at place 3
