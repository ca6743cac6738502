return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, rope = { yarn = { factor = 2, orignal = 64 } }, name = 'b' }          --> attention.rope.yarn: expected fields out of attention_factor, beta_fast, beta_slow, factor, original and truncate, found 'orignal'; did you mean 'original'?
  } },
}
