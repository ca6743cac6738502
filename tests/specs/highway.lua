return require "small" { name = "highway", residual = highway {} }
