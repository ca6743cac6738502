return require "small" {
  name = "learned", residual = standard {}, norm = layernorm {}, bias = true, embedding = { positions = "learned", tied = false },
}
