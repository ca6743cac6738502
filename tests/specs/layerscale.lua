return require "small" { name = "layerscale", residual = layerscale {} }
