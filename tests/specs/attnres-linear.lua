return require "small" { name = "attnres_linear", residual = attnres { full = true, kernel = "linear", rank = 4 } }
