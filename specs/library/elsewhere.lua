-- SPDX-License-Identifier: MIT
-- Names in other programs, and what they are called here.
local files = "not there: a spec reads and writes no files; print(...) shows values"

elsewhere = {
  clamp = "min(max(x, low), high)", clip = "min(max(x, low), high), and for gradients a field of "
    .. "adamw", pow = "x ^ 2", square = "x * x", maximum = "max(a, b)", minimum = "min(a, b)",
  amax = "peak(x, axis)", where = "select(c, a, b)", matmul = "linear(x, w)", mm = "linear(x, w)",
  einsum = "made of linear, linear_each, reshape and sum", cat = "concat({ a, b }, axis)",
  permute = "transpose(x, { 2, 1 })", view = "reshape(x, { n, m })",
  squeeze = "reshape(x, { n })", unsqueeze = "reshape(x, { 1, n })",
  detach = "stop_gradient(x)", swish = "silu(x)", ones = "fill(1, { n })",
  full = "fill(value, { n })",
  arange = "position { number = true } for tokens, a list for others", roll = "shift(x, n)",
  conv1d = "conv(x, w)", topk = "largest(x, k)", rand = "random(n)",
  dropout = "a field of every sublayer: attention { heads = 4, dropout = 0.1 }",
  sgd = "not there: optimizers are adamw { ... } and muon { ... }",
  adam = "adamw { weight_decay = 0 }", relu6 = "min(relu(x), 6)",
  linear_schedule = "wsd { ... } or cosine { ... }",
  io = files, os = files, dofile = files, loadfile = files, load = "require 'name'",
  debug = "print(...)", coroutine = "not there: a spec runs once, from start to end",
  utf8 = "not there: strings are bytes", package = "require 'name'", warn = "print(...)",
  xpcall = "pcall(f)", collectgarbage = "not needed",
}
