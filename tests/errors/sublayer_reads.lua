local own = sublayer {    --> sublayer: expected reads to be names, each once, found the string 'q'
  reads = { "q", "q" },
  forward = function(m, site, x) return x.q end,
}
return model {
  name = "a", vocab = 9, context = 8, dim = 16, norm = rmsnorm {},
  layers = { layer { own { name = "own" } } },
}
