local function one(t) return layer { mlp { hidden = 8 }, route =
  dllm { target = t, weight = 1 } } end    --> dllm: expected one target and weight in all layers, found 0.5 and 1 in one, 0.6 and 1 in another
return model { name = "m", vocab = 16, context = 8, dim = 8, norm = rmsnorm {}, layers = { one(0.5), one(0.6) } }
