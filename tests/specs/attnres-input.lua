return require "small" { name = "attnres_input", residual = attnres { blocks = 2, query = "input" } }
