return model {
  name = "m", vocab = 256, context = 64, dim = 32,
  norm = rmsnorm { eps = 1e-6 },
  layers = { layer {
    attention { heads = 4 },
    attention { heads = 4, rope = { style = 'full' }, name = 'b' }          --> attention.rope: expected style to be 'half' or 'interleaved', found the string 'full'
  } },
}
