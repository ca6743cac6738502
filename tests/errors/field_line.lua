-- model { dimm = 3 }
local function norm_of(what) return what { eps = 1e-6 } end
return model { name = "m", vocab = 16, -- dimm = 3
  tokenizer = nil, context = 8, dim = 8, norm = norm_of(rmsnorm),
  residual = (function() local a, dimm = 1, 2 return standard {} end)(),
  layers = { layer { mlp { hidden = 8 } } }, train = { batch = 3 == 4 and 1 or 2 },
  embedding = { tied = true, dimmer = [=[ ]] dimm = ]=] },
  ["dimm"] = 4,    --> model: expected fields out of context, dim, embedding, final_norm, layers, logits, lora, name, norm, residual, route_penalty, tokenizer, train and vocab, found 'dimm'; did you mean 'dim'?
}
