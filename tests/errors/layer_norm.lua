local l = layer { rmsnorm {} }    --> layer: expected a sublayer such as mlp { hidden = 256 } at place 1, found a norm
