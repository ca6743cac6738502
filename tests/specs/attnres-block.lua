return require "small" { name = "attnres_block", residual = attnres { blocks = 2 } }
