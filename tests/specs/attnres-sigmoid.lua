return require "small" { name = "attnres_sigmoid", residual = attnres { block_size = 2, kernel = "sigmoid" } }
