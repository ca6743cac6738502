local l = layer { mlp { hidden = 8 }, rout = 1 }    --> layer: expected fields out of route, found 'rout'; did you mean 'route'?
