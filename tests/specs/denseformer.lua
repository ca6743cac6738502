return require "small" { name = "denseformer", residual = denseformer { dilation = 2 } }
