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
  local calls, definition, first, kept = 0, route.definition, b.index, #b.kept
  local function body(x, routed)
    calls = calls + 1
    local lead = b.lead
    b.lead, b.routed, b.again = lead_of(b, x), routed, calls == 2 and definition.forms
    b.state = { h = expect_stream(b, definition.run, "the argument of body", x, site.path, route) }
    b.index = first
    while b.again and #b.kept > kept do table.remove(b.kept) end
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

function run_route(b, layer, index)
  local route = inside(inside(layer).route)
  local site = { index = b.index, layer = index, name = "layer", prefix = "layers." .. index,
    path = "layers." .. index }
  core.site(site.path)
  local run = route.definition.sublayer and run_sublayer_route or run_layer_route
  b.route = route
  run(b, route, layer, index, site)
  b.route = nil
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

