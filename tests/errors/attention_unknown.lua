return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { haeds = 4, name = 'b' }          --> attention: expected fields out of bias, causal, dropout, gate, growth, head_dim, heads, kv_heads, multiplier, name, norm, out_norm, qk_norm, reads, rope, scale, sinks, softcap, value_residual and window, found 'haeds'; did you mean 'heads'?
  } },
}
