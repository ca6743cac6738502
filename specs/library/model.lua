-- model { ... }, and how one becomes a graph.
local size = { type = "integer", min = 1, max = (1 << 31) - 1, required = true }

local model_fields = {
  name = { type = "string", longest = 64, required = true },
  vocab = size, context = size, dim = size,
  tokenizer = { type = "string" },
  embedding = { type = "table", default = { tied = true }, fields = {
    tied = { type = "boolean", default = true },
    scale = { type = "number" },
    positions = { type = "string", one_of = { "learned" } } } },
  logits = { type = "table", default = {}, fields = {
    scale = { type = "number" }, softcap = { type = "number", above = 0 } } },
  norm = { type = "norm", required = true },
  final_norm = { any_of = { { type = "norm" }, { type = "boolean" } } },
  residual = { type = "mixer" },
  layers = { type = "any", required = true },
  route_penalty = { type = "number", min = 0, default = 0 },
  train = { type = "table", default = {}, fields = {
    optimizer = { type = "optimizer" }, schedule = { type = "schedule" },
    batch = { type = "integer", min = 1, max = (1 << 31) - 1, default = 8 },
    seed = { type = "integer", min = 0, default = 0 } } },
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
  error("model: expected tokenizer to be " .. table.concat(known, " or ") .. ", found "
    .. describe(name) .. "; tokenizers in files are not in this version")
end

publish("model", constructor("model", function(given)
  local spec = check("model", model_fields, given)
  if spec.tokenizer then check_tokenizer(spec.tokenizer, spec.vocab) end
  spec.layers = flatten("model", spec.layers, {})
  if #spec.layers == 0 then error("model: expected at least one layer, found none") end
  spec.residual = spec.residual or public.standard {}
  spec.train.optimizer = spec.train.optimizer or public.adamw {}
  spec.train.schedule = spec.train.schedule or public.constant {}
  spec.train.batch, spec.train.seed = spec.train.batch or 8, spec.train.seed or 0
  return object("model", spec.name, spec)
end, model_fields))

-- {== m: what mixers, sublayers and routes ask of the model ==================

local function prefix_of(site)
  local prefix = site
  if type(site) == "table" then prefix = site.prefix end
  if type(prefix) ~= "string" then
    error("param: expected a site or a prefix first, found " .. describe(site))
  end
  return prefix
end

-- 'own': of a mixer or route of the user's, where it is a mistake if nothing reads it
local function parameter(name, shape, init, own)
  if type(shape) ~= "table" or kind_of(shape) then
    error("param: expected a shape, a list such as { m.dim }, found " .. describe(shape))
  end
  if type(init) == "number" then return core.param(name, shape, "constant", init, own) end
  if init == "zeros" or init == "ones" then
    return core.param(name, shape, "constant", init == "ones" and 1 or 0, own)
  end
  if kind_of(init) == "init" then
    return core.param(name, shape, "normal", inside(init).deviation, own)
  end
  local is_list = type(init) == "table" and not kind_of(init)
  if is_list then return core.param(name, shape, "list", init, own) end
  error("param: expected an initial value, a number, 'zeros', 'ones', normal(0.02) or a list, "
    .. "found " .. describe(init))
end

-- Runs f for something the user wrote: errors inside are his line's.
local function for_line_of(object, f, ...)
  return core.at(object.file, object.line, f, ...)
end

-- The model's norm, or 'which' of it: another one, or false.
local function normalize(b, prefix, x, which)
  if which == false then return x end
  local norm, m = b.norm, b.norm_m
  if kind_of(which) then
    norm = inside(which)
    m = machine(b, norm.options)
    m.eps = norm.options.eps or m.eps
  end
  return for_line_of(norm, norm.definition.apply, m, prefix, x)
end

-- 'definition' and 'name': the function that this m is for
function machine(b, options, definition, name)
  local m = { dim = b.spec.dim, eps = b.eps, layers = #b.spec.layers, sublayers = b.sublayers,
              context = b.spec.context, route_penalty = b.spec.route_penalty, options = options }
  local own = definition and core.own(definition[name])
  function m.param(self, site, name, shape, init)
    if self ~= m then
      error("param: expected m:param(site, name, shape, init), "
        .. "found a call that does not begin with m:")
    end
    if type(name) ~= "string" then error("param: expected a name, found " .. describe(name)) end
    return parameter(prefix_of(site) .. "." .. name, shape, init, own)
  end
  -- x W^T + b, [tokens, out]
  m.linear = core.wrap(function(self, site, name, x, out, bias)
    local y = linear(x, self:param(site, name .. ".weight", { out, x:shape()[1] }, normal(0.02)))
    return bias and y + self:param(site, name .. ".bias", { out }, 0) or y
  end)
  -- The model's norm with parameters of its own, prefix .. ".weight" and perhaps ".bias".
  m.norm = core.wrap(function(_, site, x)
    local form, prefix = core.form(x), prefix_of(site)
    if not form then error("norm: expected a tensor second, found " .. describe(x)) end
    return normalize(b, prefix, x)
  end)
  -- How many sources the read under way chooses from, for reports.
  function m.sources(_, n)
    local count = math.type(n) == "integer" and n or nil
    if not count or count < 1 then
      error("sources: expected how many there are, m:sources(2), found " .. describe(n))
    end
    b.sources = count
  end
  function m.note(_, text) core.note(text) end
  return m
end

-- }{== Building ==============================================================

local function complain(f, message)
  local file, line = core.defined(f)
  core.at(file, line, error, message)
end

-- The stream has rows for all tokens or, in a layer that a route gives some only, for those.
local function expect_stream(b, f, name, x, path, owner)
  local form = "[" .. b.lead .. "," .. b.spec.dim .. "]"
  if core.form(x) ~= form then
    complain(f, (owner or b.mixer).name .. ": expected " .. name .. " to return a tensor " .. form
      .. ", found " .. (core.form(x) or describe(x)) .. " at " .. path)
  end
  return x
end

-- A state is a table; one that began as a tensor may stay one.
local function next_state(b, name, state)
  local kind = type(state)
  if state == nil or kind ~= "table" and (type(b.state) == "table" or not core.form(state)) then
    complain(b.mixer.definition[name], b.mixer.name .. ": expected " .. name
      .. " to return a state, found "
      .. (state == nil and "nothing" or describe(state) .. ", no table"))
  end
  b.state = state
end

local results = { open = "a state", read = "a tensor and perhaps a state",
                  write = "a state", close = "a tensor and perhaps a loss" }
local most = { open = 1, read = 2, write = 1, close = 2 }

local function mix(b, name, ...)
  local f = b.mixer.definition[name]
  local got = table.pack(for_line_of(b.mixer, f, b.m, ...))
  if got.n > most[name] then
    complain(f, b.mixer.name .. ": expected " .. name .. " to return " .. results[name]
      .. ", found " .. got.n .. " values")
  end
  return got[1], got[2]
end

-- What 'f' of a mixer's or a sublayer's returned as a loss: a number, or one per token.
local function own_loss(b, f, name, owner, loss)
  local form = core.form(loss)
  if loss == nil or b.again then return end
  if form ~= "[tokens]" and form ~= "[]" then
    complain(f, owner.name .. ": expected the loss that " .. name .. " returns second to be a number "
      .. "or [tokens], found " .. (form or describe(loss)))
  end
  b.losses[#b.losses + 1] = form == "[]" and loss or token_sum(loss) * per_token()
end

-- Reads for a site, and notes how many sources there were.
local function read(b, site, name)
  b.sources = 1
  local h, second = mix(b, name, b.state, site)
  if name == "read" and second ~= nil then next_state(b, name, second) end
  local f = b.mixer.definition[name]
  -- a read may serve as close, and returns its state
  local state = f == b.mixer.definition.read or type(second) == "table" and not core.form(second)
  if name == "close" and not state then own_loss(b, f, name, b.mixer, second) end
  expect_stream(b, b.mixer.definition[name], name, h, site.path)
  if not b.again then core.read(site.path, b.sources, h) end
  return h
end

-- x, a share of whose numbers a training step leaves out; the others make up for them.
local function dropped(share, x)
  if share == 0 then return x end
  return x * select(sampling(), greater(random(x:shape()[1], { of = x }), share) / (1 - share), 1)
end

-- What a sublayer makes of a stream x.  'routed': what its route asks of it, if it has one.
local function build_sublayer(b, part, site, x, routed)
  local forward, norm = part.definition.forward, part.options.norm or {}
  local before = norm.before
  if before == nil then before = b.mixer.definition.prenorm end
  x = normalize(b, site.weights .. ".norm", x, before)
  local own = { prefix = site.weights, index = site.index, layer = site.layer, name = site.name,
                routed = routed }
  local m = machine(b, part.options, part.definition, "forward")
  local out, loss = for_line_of(part, forward, m, own, x)
  expect_stream(b, forward, "forward", out, site.path, part)
  own_loss(b, forward, "forward", part, loss)
  out = normalize(b, site.weights .. ".after_norm", out, norm.after or false)
  return dropped(part.options.dropout, out)
end

-- x: what the sublayer reads
local function run_sublayer(b, part, site, wrap, x)
  local out
  core.site(site.path)
  if wrap then
    out = wrap(site, x, function(routed) return build_sublayer(b, part, site, x, routed) end)
  else
    out = build_sublayer(b, part, site, x, b.routed)
  end
  next_state(b, "write", mix(b, "write", b.state, site, b.again and out or core.source(out)))
end

-- The sublayers of a layer, where they are; 'weights': what their parameters' names begin with.
local function sites_of(b, layer, index)
  local parts, sites = layer.sublayers, {}
  for i, s in ipairs(parts) do
    local name = inside(s).options.name
    local path = "layers." .. index .. "." .. name
    sites[i] = { index = b.index + i - 1, layer = index, name = name, path = path,
                 weights = layer.share and "shared." .. layer.share .. "." .. name or path,
                 first_in_layer = i == 1, last_in_layer = i == #parts,
                 prefix = path .. ".residual" }
  end
  b.index = b.index + #parts
  return sites
end

local function read_at(b, site)
  core.site(site.path)
  return read(b, site, "read")
end

-- 'wrapped', 'wrap': the kind of sublayer that a route runs, and how
local function run_sublayers(b, layer, index, wrapped, wrap)
  layer = inside(layer)
  local sites, x = sites_of(b, layer, index), {}
  for i, site in ipairs(layer.parallel and sites or {}) do x[i] = read_at(b, site) end
  for i, site in ipairs(sites) do
    local part = inside(layer.sublayers[i])
    run_sublayer(b, part, site, part.name == wrapped and wrap, x[i] or read_at(b, site))
  end
end

-- The stream of a mixer that has one, and a state made of another stream.
local function one_stream(b)
  local state = b.state
  local h = type(state) == "table" and rawget(state, "h")
  if not core.form(h) or #sorted_names(state) ~= 1 then
    error("route: expected a mixer of one stream (standard, rezero, layerscale or highway), found "
      .. b.mixer.name)
  end
  return h
end

-- "tokens", or "rows1" of x that a route took from the stream.
local function lead_of(b, x)
  local form, tail = core.form(x), "," .. b.spec.dim .. "]"
  local fits = form and form:sub(1, 5) == "[rows" and form:sub(-#tail) == tail
  return fits and form:sub(2, -#tail - 1) or "tokens"
end

-- What a route's run returns beside its output: a loss, or what 'loss' makes one of for all layers.
local function keep_loss(b, route, loss)
  if loss == nil then return end
  if not route.definition.loss then
    if core.form(loss) == "[tokens]" then loss = token_sum(loss) * per_token() end
    b.losses[#b.losses + 1] = loss
    return
  end
  local all = b.routes[route.definition]
  if not all then
    all = { route = route }
    b.routes[route.definition] = all
    b.routes[#b.routes + 1] = all
  end
  all[#all + 1] = loss
end

local function call_once(route, n)
  if n == 1 or route.definition.forms and n == 2 then return end
  complain(route.definition.run, route.name .. ": expected run to call body once, found "
    .. (n == 0 and "no call" or n .. " calls"))
end

-- A route runs instead of the layer; body(x) is the layer on another stream.  One with two forms
-- (training()) calls it for each; reports follow the first.
local function run_layer_route(b, route, layer, index, site)
  local calls, definition, first = 0, route.definition, b.index
  local function body(x, routed)
    calls = calls + 1
    local lead = b.lead
    b.lead, b.routed, b.again = lead_of(b, x), routed, calls == 2 and definition.forms
    b.state = { h = expect_stream(b, definition.run, "the argument of body", x, site.path, route) }
    b.index = first
    if calls == 1 or b.again then run_sublayers(b, layer, index) end
    local h = one_stream(b)
    b.lead, b.routed, b.again = lead, nil, nil
    return h
  end
  local r = machine(b, route.options, definition, "run")
  local x = for_line_of(route, one_stream, b)
  local out, loss = for_line_of(route, definition.run, r, site, x, body)
  call_once(route, calls)
  core.site(site.path)
  b.state = { h = expect_stream(b, definition.run, "run", out, site.path, route) }
  keep_loss(b, route, loss)
end

-- A route runs instead of one sublayer; body(routed) is that on what it reads.
local function run_sublayer_route(b, route, layer, index, site)
  local found, definition = 0, route.definition
  run_sublayers(b, layer, index, definition.sublayer, function(at, x, build)
    local calls = 0
    found = found + 1
    site.index, site.path = at.index, at.path
    local function body(routed)
      calls = calls + 1
      return build(routed)
    end
    local r = machine(b, route.options, definition, "run")
    local out, loss = for_line_of(route, definition.run, r, site, x, body)
    call_once(route, calls)
    keep_loss(b, route, loss)
    return expect_stream(b, definition.run, "run", out, at.path, route)
  end)
  if found ~= 1 then
    for_line_of(route, error, route.name .. ": expected a layer with one sublayer '"
      .. definition.sublayer .. "', which it routes, found "
      .. (found == 0 and "none" or found) .. " in layers." .. index)
  end
end

local function run_route(b, layer, index)
  local route = inside(inside(layer).route)
  local site = { index = b.index, layer = index, name = "layer", prefix = "layers." .. index,
    path = "layers." .. index }
  core.site(site.path)
  local run = route.definition.sublayer and run_sublayer_route or run_layer_route
  run(b, route, layer, index, site)
end

-- Losses that are made of all layers with a route.
local function route_losses(b)
  core.site("routes")
  for _, all in ipairs(b.routes) do
    local definition = all.route.definition
    local r = machine(b, all.route.options, definition, "loss")
    local loss = for_line_of(all.route, definition.loss, r, all)
    if loss then b.losses[#b.losses + 1] = loss end
  end
end

local function embedding(b)
  local m, spec = b.m, b.spec
  core.site("embed")
  b.table = m:param("embed", "weight", { spec.vocab, spec.dim }, normal(0.02))
  local e = embed(b.table, tokens())
  if spec.embedding.scale then e = e * spec.embedding.scale end
  if spec.embedding.positions then
    local weight = m:param("positions", "weight", { spec.context, spec.dim }, normal(0.02))
    e = e + embed(weight, position())
  end
  return e
end

local function outputs(b, x)
  core.site("head")
  local w = b.spec.embedding.tied ~= false and b.table
            or b.m:param("head", "weight", { b.spec.vocab, b.spec.dim }, normal(0.02))
  local logits, how = linear(x, w), b.spec.logits
  if how.scale then logits = logits * how.scale end
  if how.softcap then logits = how.softcap * tanh(logits / how.softcap) end
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
  local o, schedule = inside(train.optimizer), inside(train.schedule)
  core.finish {
    name = s.name, tokenizer = s.tokenizer, mixer = b.mixer.name, vocab = s.vocab,
    context = s.context, dim = s.dim, layers = #s.layers, sublayers = b.sublayers,
    batch = train.batch, seed = train.seed, lr = o.lr, beta1 = o.betas[1], beta2 = o.betas[2],
    eps = o.eps, weight_decay = o.weight_decay, clip = o.clip, schedule = schedule.schedule,
    warmup = schedule.warmup, decay = schedule.decay, min_lr = schedule.min_lr,
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
  if kind_of(returned) ~= "model" then
    error("expected the spec to return model { ... }, found " .. describe(returned))
  end
  local spec = inside(returned)
  local b = { spec = spec, mixer = inside(spec.residual), norm = inside(spec.norm), sublayers = 0,
    index = 0, losses = {}, routes = {}, lead = "tokens" }
  for _, layer in ipairs(spec.layers) do b.sublayers = b.sublayers + #inside(layer).sublayers end
  b.eps = b.norm.options.eps
  b.m = machine(b, b.mixer.options, b.mixer.definition, "read")
  b.norm_m = machine(b, b.norm.options)
  for_line_of(b.mixer, check_causal, b)
  core.at(spec.file, spec.line, construct, b)
  settings(b)
end

-- }==========================================================================
