-- SPDX-License-Identifier: MIT
-- Layers of which some tokens take a part only.

-- The stream of a mixer that has one, and a state made of another stream.
local function one_stream(b)
  local state = b.state
  local h = type(state) == "table" and rawget(state, "h")
  if not core.form(h) or #sorted_names(state) ~= 1 then
    error("route: expected a mixer of one stream such as standard, found "
      .. b.mixer.name)
  end
  return h
end

-- What a route's run returns beside its output: a loss, or what 'loss' makes one of for all layers.
local function keep_loss(b, route, loss)
  if loss == nil then return end
  if not route.definition.loss then
    if not is_loss(loss) then
      complain(route.definition.run, route.name .. ": expected the loss that run returns second to "
        .. "be a number or [tokens], found " .. (core.form(loss) or describe(loss)))
    end
    b.losses[#b.losses + 1] = mean_loss(loss)
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
  local calls, definition, first, kept = 0, route.definition, b.index, #b.kept
  local function body(x, given)
    local asked = asked_of(route.name, given, "(x, { rows = list })")
    calls = calls + 1
    b.asked, b.again = asked, calls == 2 and definition.forms
    local list = core.list_of(x)
    local h = on_tokens(b, list, list and lead_of(x) or "tokens", function()
      expect_stream(b, definition.run, "the argument of body", x, site.path, route)
      b.state = { h = x }
      b.index = first
      while b.again and #b.kept > kept do table.remove(b.kept) end
      if calls == 1 or b.again then run_sublayers(b, layer, index) end
      return one_stream(b)
    end)
    b.asked, b.again = nil, nil
    expect_heeded(route.name, asked)
    return h
  end
  local r = machine(b, route.options, definition, "run")
  local x = for_line_of(route, one_stream, b)
  local out, loss = for_line_of(route, definition.run, r, site, x, core.wrap(body))
  call_once(route, calls)
  core.site(site.path)
  b.state = { h = expect_stream(b, definition.run, "run", out, site.path, route) }
  keep_loss(b, route, loss)
end

-- The place of the sublayer that a route runs: the one of that name or, if there is none, the one
-- that the file of that name made.
local function place_of(route, layer, index)
  local wanted, named, made, names = route.definition.sublayer, {}, {}, {}
  for i, s in ipairs(inside(layer).sublayers) do
    local part = inside(s)
    names[i] = "'" .. part.options.name .. "'"
    if part.options.name == wanted then named[#named + 1] = i end
    if part.name == wanted then made[#made + 1] = i end
  end
  local found = #named > 0 and named or made
  local clear = #named == 0 or #made == 0
  for _, i in ipairs(made) do clear = clear or i == named[1] end
  if #found == 1 and clear then return found[1] end
  for_line_of(route, error, route.name .. ": expected a layer with one sublayer '" .. wanted
    .. "', which it routes, found " .. (#found == 0 and "none" or "several") .. " in layers."
    .. index .. ", which has " .. enumerate(names, "and") .. "; name = '" .. wanted
    .. "' in a sublayer gives it that name")
end

-- A route runs instead of one sublayer; body(routed) is that on what it reads.
local function run_sublayer_route(b, route, layer, index, site)
  local definition = route.definition
  run_sublayers(b, layer, index, place_of(route, layer, index), function(at, x, build)
    local calls, kept = 0, #b.kept
    site.index, site.path = at.index, at.path
    local function body(given)
      local asked = asked_of(route.name, given, " { rows = list }")
      calls = calls + 1
      b.again = calls == 2 and definition.forms
      while b.again and #b.kept > kept do table.remove(b.kept) end
      local out = build(asked)
      b.again = nil
      expect_heeded(route.name, asked)
      return out
    end
    local r = machine(b, route.options, definition, "run")
    local out, loss = for_line_of(route, definition.run, r, site, x, core.wrap(body))
    call_once(route, calls)
    keep_loss(b, route, loss)
    return expect_stream(b, definition.run, "run", out, at.path, route)
  end)
end

function run_route(b, layer, index)
  local route = inside(inside(layer).route)
  local site = { index = b.index, layer = index, name = "layer", prefix = "layers." .. index,
    path = "layers." .. index }
  core.site(site.path)
  local run = route.definition.sublayer and run_sublayer_route or run_layer_route
  b.route = route
  run(b, route, layer, index, site)
  b.route = nil
  -- a body that failed where the user catches it left them
  core.work_on(nil)
  b.lead, b.list, b.asked, b.again = "tokens", nil, nil, nil
end

-- Losses that are made of all layers with a route.
function route_losses(b)
  core.site("routes")
  for _, all in ipairs(b.routes) do
    local definition = all.route.definition
    local r = machine(b, all.route.options, definition, "loss")
    local loss = for_line_of(all.route, definition.loss, r, all)
    if loss then b.losses[#b.losses + 1] = loss end
  end
end

