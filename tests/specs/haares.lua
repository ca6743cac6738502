return require "small" { name = "haares", residual = haares { blocks = 2 } }
