local l = layer { mlp { hidden = 8 }, mlp { hidden = 8 } }    --> layer: expected sublayers with names of their own, found a second 'mlp'; give it another with name = '...'
