return model {          --> model: expected tokenizer to be 'bytes', 'chars' or a file '*.json', '*.model' or '*.tiktoken', found the string 'bpe'
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, tokenizer = "bpe"
}
