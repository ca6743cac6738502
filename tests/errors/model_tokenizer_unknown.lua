return model {          --> model: expected tokenizer to be 'bytes' or 'chars', found the string 'bpe.json'; tokenizers in files are not in this version
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, tokenizer = "bpe.json"
}
