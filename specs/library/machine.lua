-- SPDX-License-Identifier: MIT
-- m: what the model offers to mixers, sublayers and routes.


-- 'what': the method that was called, whose mistake it is
local function prefix_of(what, site)
  local prefix = site
  if type(site) == "table" then prefix = site.prefix end
  if type(prefix) ~= "string" then
    error(what .. ": expected a site or a prefix first, found " .. describe(site))
  end
  return prefix
end

-- 'own': of a mixer or route of the user's, where it is a mistake if nothing reads it; "spare":
-- of a read whose state is not taken, where it is none
local function parameter(what, name, shape, init, own)
  local make = what == "buffer" and core.buffer or core.param
  if type(shape) ~= "table" or kind_of(shape) then
    error(what .. ": expected a shape, a list such as { m.dim }, found " .. describe(shape))
  end
  if type(init) == "number" then return make(what, name, shape, "constant", init, own) end
  if init == "zeros" or init == "ones" then
    return make(what, name, shape, "constant", init == "ones" and 1 or 0, own)
  end
  if kind_of(init) == "init" then
    local points = inside(init).points
    if points then return make(what, name, shape, "uniform", points, own) end
    return make(what, name, shape, "normal", inside(init).deviation, own)
  end
  local is_list = type(init) == "table" and not kind_of(init)
  if is_list then return make(what, name, shape, "list", init, own) end
  error(what .. ": expected an initial value, a number, 'zeros', 'ones', normal(0.02), "
    .. "uniform(0, 1) or a list, "
    .. "found " .. describe(init))
end

-- Runs f for something the user wrote: errors inside are his line's.
function for_line_of(object, f, ...)
  return core.at(object.file, object.line, f, ...)
end

-- The model's norm, or 'which' of it: another one, or false.
function normalize(b, prefix, x, which)
  if which == false then return x end
  local norm, m = b.norm, b.norm_m
  if kind_of(which) then
    norm = inside(which)
    m = machine(b, norm.options)
    m.eps = norm.options.eps or m.eps
  end
  return for_line_of(norm, norm.definition.apply, m, prefix, x)
end

-- What every weight of m:linear starts as.
local usual = normal(0.02)

-- The functions of all machines of b whose function 'own' says the user wrote.
local function methods(b, own)
  local spec, f = b.spec, {}
  local function named(what, site, name, shape, init, unread)
    if type(name) ~= "string" then error(what .. ": expected a name, found " .. describe(name)) end
    return parameter(what, prefix_of(what, site) .. "." .. name, shape, init, unread)
  end
  local function trained(what, site, name, shape, init)
    return named(what, site, name, shape, init, b.unread == nil and own or b.unread)
  end
  local function expect_m(self, what, arguments)
    if type(self) ~= "table" or rawget(self, "param") ~= f.param then
      error(what .. ": expected m:" .. what .. "(" .. arguments .. "), "
        .. "found a call that does not begin with m:")
    end
  end
  function f.param(self, site, name, shape, init)
    expect_m(self, "param", "site, name, shape, init")
    return trained("param", site, name, shape, init)
  end
  -- A parameter that no gradient trains: m:rule says what a step makes of it.
  f.buffer = core.wrap(function(_, site, name, shape, init)
    return named("buffer", site, name, shape, init, own)
  end)
  -- After a training step the buffer is next(buffer, the sum of the statistic over its tokens).
  -- In a layer that is built in two forms it is that of the first.
  f.rule = core.wrap(function(_, buffer, statistic, next)
    if b.again then return end
    b.rules = b.rules + 1
    core.rule(buffer, statistic, next(buffer, core.statistic(buffer)))
  end)
  -- x W^T + b, [tokens, out]; init: of W
  f.linear = core.wrap(function(self, site, name, x, out, bias, init)
    expect_m(self, "linear", "site, name, x, out")
    if type(name) ~= "string" then error("linear: expected a name, found " .. describe(name)) end
    if not core.form(x) then error("linear: expected a tensor third, found " .. describe(x)) end
    if type(out) ~= "number" or not math.tointeger(out) then
      error("linear: expected a whole number of outputs, found " .. describe(out))
    end
    local prefix, unread = prefix_of("linear", site) .. "." .. name .. ".", own
    if b.unread ~= nil then unread = b.unread end
    local shape = { out, x:shape()[1] }
    local y = linear(x, parameter("linear", prefix .. "weight", shape, init or usual, unread))
    if b.lora then
      y = with_adapters(b.lora, prefix:sub(1, -2), x, y, function(part, shape, init)
        return parameter("linear", prefix .. part, shape, init, unread)
      end)
    end
    return bias and y + parameter("linear", prefix .. "bias", { out }, 0, unread) or y
  end)
  -- The model's norm with parameters of its own, prefix .. ".weight" and perhaps ".bias".
  f.norm = core.wrap(function(_, site, x)
    local form, prefix = core.form(x), prefix_of("norm", site)
    if not form then error("norm: expected a tensor second, found " .. describe(x)) end
    return normalize(b, prefix, x)
  end)
  -- [tokens], or of the tokens that x has rows for: the cross entropy of what the model's head
  -- makes of x, for losses.
  f.nll = core.wrap(function(_, x)
    local list, wanted = core.list_of(x), "[tokens," .. spec.dim .. "]"
    if list then wanted = "[" .. lead_of(x) .. "," .. spec.dim .. "]" end
    if core.form(x) ~= wanted then
      error("nll: expected a tensor " .. wanted .. ", found " .. (core.form(x) or describe(x)))
    end
    local ids = core.targets()
    return cross_entropy(head(b, x), list and gather(ids, list) or ids)
  end)
  -- What is left to later sublayers under a name, and all that earlier ones left, the oldest first.
  f.keep = core.wrap(function(_, name, x)
    if type(name) ~= "string" then error("keep: expected a name, found " .. describe(name)) end
    if not core.form(x) then error("keep: expected a tensor second, found " .. describe(x)) end
    b.kept[#b.kept + 1] = { name = name, x = x }
  end)
  f.kept = core.wrap(function(_, name)
    local list = {}
    if type(name) ~= "string" then error("kept: expected a name, found " .. describe(name)) end
    for _, kept in ipairs(b.kept) do
      if kept.name == name then list[#list + 1] = kept_of(b, name, kept.x) end
    end
    return list
  end)
  -- How many sources the read under way chooses from, for reports.
  function f.sources(_, n)
    local count = math.type(n) == "integer" and n or nil
    if not count or count < 1 then
      error("sources: expected how many there are, m:sources(2), found " .. describe(n))
    end
    b.sources = count
  end
  function f.note(_, text) core.note(text) end
  return f
end

-- What is asked of m that it does not have is a mistake.
local strict = { __metatable = false, __index = function(m, name)
  if type(name) ~= "string" then return nil end
  error(unknown("m: expected one of " .. enumerate(sorted_names(m), "and"),
    "found '" .. name .. "'", name, m))
end }

-- 'definition' and 'name': the function that this m is for
function machine(b, options, definition, name)
  local own = definition and core.own(definition[name])
  local spec, f = b.spec, b.methods[own or false]
  if not f then
    f = methods(b, own)
    b.methods[own or false] = f
  end
  return setmetatable({ dim = spec.dim, eps = b.eps, layers = #spec.layers, sublayers = b.sublayers,
           context = spec.context, vocab = spec.vocab, route_penalty = spec.route_penalty,
           options = options, param = f.param, buffer = f.buffer, rule = f.rule,
           linear = f.linear, norm = f.norm, nll = f.nll, keep = f.keep, kept = f.kept,
           sources = f.sources, note = f.note }, strict)
end

