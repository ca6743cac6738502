return model {
  name = "m", vocab = 256, context = 64, dim = 32, norm = rmsnorm {}, layers = { layer { mlp { hidden = 8 } } }, residaul = standard {},    --> model: expected fields out of context, dim, embedding, final_norm, layers, logits, lora, name, norm, residual, route_penalty, tokenizer, train and vocab, found 'residaul'; did you mean 'residual'?
}
