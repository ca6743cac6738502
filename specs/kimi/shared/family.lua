-- SPDX-License-Identifier: MIT
-- Kimi Linear (arXiv 2510.26692), the model of the Attention Residuals report (arXiv 2603.15031):
-- one layer in four attends with multi-head latent attention and no positions, the others with
-- Kimi Delta Attention; the first layer has a plain MLP, the others experts.
--   family { name = ..., vocab = ..., context = ..., dim = D, layers = L, latent = { 3, 7, ... },
--            heads = H, head_dim = d, mla = { fields of mla }, dense = F,
--            experts = { fields of moe }, residual = ..., train = { ... } }
-- latent: the layers with mla, from 0.
return function(o)
  local latent, layers = {}, {}
  for _, i in ipairs(o.latent) do latent[i] = true end
  for i = 0, o.layers - 1 do
    local attends = latent[i] and mla(o.mla)
      or kda { heads = o.heads, head_dim = o.head_dim, gate_rank = o.head_dim }
    layers[i + 1] = layer {
      attends, i == 0 and mlp { hidden = o.dense, activation = "swiglu" } or moe(o.experts),
    }
  end
  return model {
    name = o.name, vocab = o.vocab, context = o.context, dim = o.dim, tokenizer = o.tokenizer,
    embedding = { tied = false }, norm = rmsnorm { eps = 1e-5 },
    residual = o.residual, layers = layers, train = o.train,
  }
end
