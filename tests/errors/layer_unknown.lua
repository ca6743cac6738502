local l = layer { mlp { hidden = 8 }, rout = 1 }    --> layer: expected fields out of parallel, route and share, found 'rout'; did you mean 'route'?
