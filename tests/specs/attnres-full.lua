return require "small" { name = "attnres_full", residual = attnres { full = true, heads = 2 } }
