-- SPDX-License-Identifier: MIT
-- Activations, one row each: all that functions, mlp, moe, importers and exporters know of one.
--   name    of the function and of mlp's activation without gates
--   f       the function, element by element; nil: a primitive has the name
--   gated   mlp's and moe's activation with gates, act(gate x) * up x (arXiv 2002.05202); nil: none
--   reads   its names in config.json of transformers; the first is the one that exporters write
--   plain   the name that they write without gates, where that is another one
--   help    for editors
local rows = {
  { name = "silu", f = function(x) return x * sigmoid(x) end, gated = "swiglu",
    reads = { "silu", "swish" }, help = "x sigmoid(x)" },
  { name = "gelu", f = function(x) return x * 0.5 * (1 + erf(x * 0.5 ^ 0.5)) end, gated = "geglu",
    reads = { "gelu", "gelu_python" }, help = "x times the normal distribution's Phi(x)" },
  { name = "gelu_tanh", f = function(x)
      return x * 0.5 * (1 + tanh((2 / math.pi) ^ 0.5 * (x + 0.044715 * x * x * x)))
    end, gated = "geglu_tanh",
    reads = { "gelu_pytorch_tanh", "gelu_new", "gelu_fast", "gelu_accurate" }, plain = "gelu_new",
    help = "gelu by tanh, as GPT-2 has it" },
  { name = "relu", gated = "reglu", reads = { "relu" } },
  { name = "relu2", f = function(x)
      local y = relu(x)
      return y * y
    end, reads = { "relu2" }, help = "relu(x) squared" },
}

-- By the name that a spec gives: the function of what has gates, and of what has none.  By a name
-- of config.json: a spec's.  By a spec's: that of config.json.
local all = { rows = rows, gated = {}, plain = {}, read = { gated = {}, plain = {} },
              written = { gated = {}, plain = {} }, gated_names = {}, names = {} }
for _, row in ipairs(rows) do
  local f = row.f or ops[row.name]
  all.plain[row.name], all.written.plain[row.name] = f, row.plain or row.reads[1]
  if row.gated then
    all.gated[row.gated], all.written.gated[row.gated] = f, row.reads[1]
    all.gated_names[#all.gated_names + 1] = row.gated
  end
  for _, name in ipairs(row.reads) do
    all.read.plain[name], all.read.gated[name] = row.name, row.gated
  end
end
for _, name in ipairs(all.gated_names) do all.names[#all.names + 1] = name end
for name in pairs(all.plain) do all.names[#all.names + 1] = name end
return all
