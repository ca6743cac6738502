return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    sublayer { forward = function(m, site, x)
      return conv(x, m:param(site, "taps", { m.dim, 3 }, normal(0.3)))  --> conv: expected no route that hides tokens from others, found dllm: only attention can leave tokens out
    end } { name = "past" },
    route = dllm { hidden = 5 },
  } },
}
