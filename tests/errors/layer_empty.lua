local l = layer {}    --> layer: expected at least one sublayer, found none
