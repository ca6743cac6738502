return require "small" { name = "rezero", residual = rezero {} }
