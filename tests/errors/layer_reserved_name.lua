local l = layer { mlp { hidden = 8, name = 'residual' } }    --> layer: expected sublayers with names of their own, found the reserved name 'residual'
