-- SPDX-License-Identifier: MIT
-- model { ... }, and how one becomes a graph.
local size = { type = "integer", min = 1, max = (1 << 31) - 1, required = true }

local model_fields = {
  name = { type = "string", longest = 64, required = true },
  vocab = size, context = size, dim = size,
  tokenizer = { type = "string" },
  embedding = { type = "table", default = { tied = true }, fields = {
    tied = { type = "boolean", default = true },
    scale = { type = "number" },
    norm = { any_of = { { type = "norm" }, { type = "boolean" } }, default = false },
    positions = { type = "string", one_of = { "learned" } } } },
  logits = { type = "table", default = {}, fields = {
    scale = { type = "number" }, softcap = { type = "number", above = 0 } } },
  norm = { type = "norm", required = true },
  final_norm = { any_of = { { type = "norm" }, { type = "boolean" } } },
  residual = { type = "mixer" },
  layers = { type = "any", required = true },
  route_penalty = { type = "number", min = 0, default = 0 },
  train = { type = "table", default = {}, fields = train_fields },
  lora = lora_field,
}

local function check_tokenizer(name, vocab)
  local known = {}
  for i, tokenizer in ipairs(core.tokenizers) do
    if tokenizer.name == name then
      if vocab >= tokenizer.least then return end
      error("model: expected vocab to be at least " .. tokenizer.least .. " with tokenizer '"
        .. name .. "', found " .. vocab)
    end
    known[i] = "'" .. tokenizer.name .. "'"
  end
  if core.tokenizer_file(name, vocab) then return end
  error("model: expected tokenizer to be " .. table.concat(known, ", ")
    .. " or a file '*.json', '*.model' or '*.tiktoken', found " .. describe(name))
end

publish("model", constructor("model", function(given)
  local spec = check("model", model_fields, given)
  if spec.tokenizer then check_tokenizer(spec.tokenizer, spec.vocab) end
  spec.layers = flatten("model", spec.layers, {}, {})
  if #spec.layers == 0 then error("model: expected at least one layer, found none") end
  spec.residual = spec.residual or public.standard {}
  spec.train.optimizer = spec.train.optimizer or public.adamw {}
  spec.train.schedule = spec.train.schedule or public.constant {}
  complete_optimizer(spec.train.optimizer)
  spec.train.batch, spec.train.seed = spec.train.batch or 8, spec.train.seed or 0
  return object("model", spec.name, spec)
end, model_fields))

local function embedding(b)
  local m, spec = b.m, b.spec
  core.site("embed")
  b.table = m:param("embed", "weight", { spec.vocab, spec.dim }, normal(0.02))
  local e = embed(b.table, tokens())
  e = normalize(b, "embed.norm", e, spec.embedding.norm or false)
  if spec.embedding.scale then e = e * spec.embedding.scale end
  if spec.embedding.positions then
    local weight = m:param("positions", "weight", { spec.context, spec.dim }, normal(0.02))
    e = e + embed(weight, position())
  end
  return e
end

-- What the model's head makes of x [tokens, dim].
function head(b, x)
  local w = b.spec.embedding.tied ~= false and b.table
            or b.m:param("head", "weight", { b.spec.vocab, b.spec.dim }, normal(0.02))
  local logits, how = linear(x, w), b.spec.logits
  if w ~= b.table then
    logits = with_adapters(b.lora, "head", x, logits, function(name, shape, init)
      return b.m:param("head", name, shape, init)
    end)
  end
  if how.scale then logits = logits * how.scale end
  return how.softcap and softcap(logits, how.softcap) or logits
end

local function outputs(b, x)
  core.site("head")
  local logits = head(b, x)
  local nll = cross_entropy(logits, core.targets())
  local mean = token_sum(nll) * per_token()
  local loss = mean
  for _, more in ipairs(b.losses) do loss = loss + more end
  core.output("logits", logits)
  core.output("nll", nll)
  core.output("cross_entropy", mean)
  core.output("loss", loss)
end

local function construct(b)
  next_state(b, "open", mix(b, "open", core.source(embedding(b))))
  for i, layer in ipairs(b.spec.layers) do
    local run = inside(layer).route and not core.dense and run_route or run_sublayers
    run(b, layer, i - 1)
  end
  route_losses(b)
  core.site("readout")
  local site = { index = b.sublayers, layer = #b.spec.layers, name = "readout", path = "readout",
                 first_in_layer = true, last_in_layer = true, prefix = "readout.residual" }
  outputs(b, normalize(b, "final_norm", read(b, site, "close"), b.spec.final_norm))
end

local function settings(b)
  local s, train = b.spec, b.spec.train
  local o, schedule = optimizer_settings(train), inside(train.schedule)
  core.finish {
    name = s.name, tokenizer = s.tokenizer, mixer = b.mixer.name, vocab = s.vocab,
    context = s.context, dim = s.dim, layers = #s.layers, sublayers = b.sublayers,
    batch = train.batch, seed = train.seed, lr = o.lr, beta1 = o.beta1, beta2 = o.beta2,
    eps = o.eps, weight_decay = o.weight_decay, clip = o.clip, momentum = o.momentum,
    newton_schulz = o.newton_schulz, muon = o.muon, schedule = schedule.schedule,
    warmup = schedule.warmup, decay = schedule.decay, min_lr = schedule.min_lr,
    adapter_scale = b.lora and b.lora.scale or 0,
  }
end

-- A mixer that sees later tokens would make what a causal sublayer promises untrue.
local function check_causal(b)
  if b.mixer.options.causal ~= false then return end
  for i, layer in ipairs(b.spec.layers) do
    for _, s in ipairs(inside(layer).sublayers) do
      local o = inside(s).options
      if o.causal then
        error(b.mixer.name .. ": expected causal = true, or sublayers with causal = false, "
          .. "found causal = false with the causal layers." .. (i - 1) .. "." .. o.name)
      end
    end
  end
end

-- The graph of what a spec returned.
function build(returned)
  core.option_undeclared()
  if kind_of(returned) ~= "model" then
    error("expected the spec to return model { ... }, found " .. describe(returned))
  end
  local spec = inside(returned)
  local b = { spec = spec, mixer = inside(spec.residual), norm = inside(spec.norm), sublayers = 0,
    index = 0, losses = {}, routes = {}, kept = {}, lead = "tokens", methods = {}, rules = 0,
    lora = lora_of(spec.lora) }
  for _, layer in ipairs(spec.layers) do b.sublayers = b.sublayers + #inside(layer).sublayers end
  b.eps = b.norm.options.eps or 1e-6
  b.m = machine(b, b.mixer.options, b.mixer.definition, "read")
  b.norm_m = machine(b, b.norm.options)
  for_line_of(b.mixer, check_causal, b)
  core.at(spec.file, spec.line, construct, b)
  core.at(spec.file, spec.line, check_targets, b.lora, spec.embedding.tied ~= false)
  core.at(spec.file, spec.line, tune, b)
  settings(b)
end

