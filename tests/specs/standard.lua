return require "small" { name = "standard", residual = standard {} }
