-- SPDX-License-Identifier: MIT
-- Reads, sublayers and writes, one after another: what a layer is.

function complain(f, message)
  local file, line = core.defined(f)
  core.at(file, line, error, message)
end

-- The stream has rows for all tokens or, in a layer that a route gives some only, for those.
-- 'other': of which tokens it may have rows instead.
function expect_stream(b, f, name, x, path, owner, other)
  local tail = "," .. b.spec.dim .. "]"
  local form, found = "[" .. b.lead .. tail, core.form(x)
  if found ~= form and not (other and found == "[" .. other .. tail) then
    complain(f, (owner or b.mixer).name .. ": expected " .. name .. " to return a tensor " .. form
      .. ", found " .. (found or describe(x)) .. " at " .. path)
  end
  return x
end

-- A state is a table; one that began as a tensor may stay one.
function next_state(b, name, state)
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

function mix(b, name, ...)
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
  if loss == nil or b.again then return end
  if not is_loss(loss) then
    complain(f, owner.name .. ": expected the loss that " .. name .. " returns second to be a "
      .. "number or [" .. b.lead .. "], found " .. (core.form(loss) or describe(loss)))
  end
  b.losses[#b.losses + 1] = mean_loss(loss)
end

-- Reads for a site, and notes how many sources there were.  'spare': the state stays as it is.
function read(b, site, name, spare)
  b.sources, b.unread = 1, spare and "spare" or nil
  local h, second = mix(b, name, b.state, site)
  b.unread = nil
  if name == "read" and second ~= nil and not spare then next_state(b, name, second) end
  local f = b.mixer.definition[name]
  -- a read may serve as close, and returns its state
  local state = f == b.mixer.definition.read or type(second) == "table" and not core.form(second)
  if name == "close" and not state then own_loss(b, f, name, b.mixer, second) end
  expect_stream(b, f, name, h, site.path)
  if not b.again then core.read(site.path, b.sources, h) end
  return h
end

-- x, a share of whose numbers a training step leaves out; the others make up for them.
local function dropped(share, x)
  if share == 0 then return x end
  return x * select(sampling(), greater(random(x:shape()[1], { of = x }), share) / (1 - share), 1)
end

-- What a sublayer reads by name; nil: one stream.
local function names_of(part)
  local reads = part.definition.reads
  if type(reads) == "function" then reads = for_line_of(part, reads, part.options) end
  return reads and for_line_of(part, check_reads, part.name, reads)
end

-- What 'part' reads at a site: a stream or, by name, several, each with a site of its own.  The
-- first one's state is that of the write.
local function read_at(b, site, part)
  core.site(site.path)
  local names, x, before, after = names_of(part), {}, b.state, nil
  if not names then return read(b, site, "read") end
  for i, name in ipairs(names) do
    local own = {}
    for key, value in pairs(site) do own[key] = value end
    own.read, own.path, own.prefix = name, site.path .. "." .. name, site.prefix .. "." .. name
    b.state = before
    x[name] = read(b, own, "read", i > 1)
    if i == 1 then after = b.state end
  end
  b.state = after
  return x
end

-- Whether the mixer wants what is read at a site normed.
local function prenorm(b, site)
  local says = b.mixer.definition.prenorm
  if type(says) ~= "function" then return says end
  local answer = for_line_of(b.mixer, says, b.m, site)
  if type(answer) ~= "boolean" then
    complain(says, b.mixer.name .. ": expected prenorm to return true or false, found "
      .. describe(answer) .. " at " .. site.path)
  end
  return answer
end

-- What the norm before a sublayer makes of x, a stream or several.
local function normed(b, part, site, x)
  local before = (part.options.norm or {}).before
  if before == nil then before = prenorm(b, site) end
  if core.form(x) then return normalize(b, site.weights .. ".norm", x, before) end
  local each = {}
  for name, h in pairs(x) do
    each[name] = normalize(b, site.weights .. ".norm." .. name, h, before)
  end
  return each
end

-- What a sublayer makes of x, a stream or several.  'asked': by its route.
local function build_sublayer(b, part, site, x, asked)
  local forward, norm = part.definition.forward, part.options.norm or {}
  local hides = asked and asked.fields.keys and b.route.name
  if asked then asked.site = site.path end
  return heeding(b, x, asked, function(x, routed, lead)
    local own = { prefix = site.weights, index = site.index, layer = site.layer, name = site.name,
                  routed = routed }
    local m = machine(b, part.options, part.definition, "forward")
    local out, loss = hidden_by(hides, for_line_of, part, forward, m, own, normed(b, part, site, x))
    expect_stream(b, forward, "forward", out, site.path, part, lead)
    own_loss(b, forward, "forward", part, loss)
    out = normalize(b, site.weights .. ".after_norm", out, norm.after or false)
    if part.options.multiplier ~= 1 then out = out * part.options.multiplier end
    return dropped(part.options.dropout, out)
  end)
end

-- What the last write leaves unread is no mistake: nothing comes after it.
local function write(b, site, out)
  if site.index == b.sublayers - 1 then b.unread = false end
  local state = mix(b, "write", b.state, site, b.again and out or core.source(out))
  b.unread = nil
  next_state(b, "write", state)
end

-- x: what the sublayer reads
local function run_sublayer(b, part, site, wrap, x)
  local out
  core.site(site.path)
  if wrap then
    if not core.form(x) then
      for_line_of(part, error, part.name .. ": expected one read under a route, found several")
    end
    out = wrap(site, x, function(asked) return build_sublayer(b, part, site, x, asked) end)
  else
    out = build_sublayer(b, part, site, x, b.asked)
  end
  write(b, site, out)
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

-- What a read of a parallel layer put into the state for its own write: the fields that are new.
local function changes(before, after)
  local new = {}
  if type(before) ~= "table" or type(after) ~= "table" or before == after then return nil end
  for key, value in pairs(after) do
    if not rawequal(rawget(before, key), value) then new[key] = value end
  end
  return new
end

local function with_changes(state, new)
  local both = {}
  for key, value in pairs(state) do both[key] = value end
  for key, value in pairs(new) do both[key] = value end
  return both
end

-- 'wrapped', 'wrap': the place of the sublayer that a route runs, and how
function run_sublayers(b, layer, index, wrapped, wrap)
  layer = inside(layer)
  local sites, x, read = sites_of(b, layer, index), {}, {}
  local function part_at(i) return inside(layer.sublayers[i]) end
  for i, site in ipairs(layer.parallel and sites or {}) do
    local before = b.state
    x[i] = read_at(b, site, part_at(i))
    read[i], b.state = changes(before, b.state), before
  end
  for i, site in ipairs(sites) do
    local part = part_at(i)
    if read[i] then b.state = with_changes(b.state, read[i]) end
    run_sublayer(b, part, site, i == wrapped and wrap, x[i] or read_at(b, site, part))
  end
end

