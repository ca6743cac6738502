-- SPDX-License-Identifier: MIT
-- Specs that are plain decoders: attention, then an MLP, in every layer, in a residual stream.
local decoder = {}

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for k, v in pairs(a) do
    if not same(v, b[k]) then return false end
  end
  for k in pairs(b) do
    if a[k] == nil then return false end
  end
  return true
end

-- What may differ between layers, each as a list by layer.
local varies = { rope = true, window = true }

local function plain_sublayer(s, place, kind)
  local o = s.options
  if s.kind ~= kind then refuse(place .. ": the sublayer " .. s.kind) end
  if o.name ~= kind then refuse(place .. ": the name " .. o.name) end
  if o.dropout and o.dropout ~= 0 then refuse(place .. ": dropout") end
  return o
end

local function check_layer(layer, place)
  if layer.route then refuse(place .. ": the route " .. layer.route) end
  if layer.parallel then refuse(place .. ": sublayers in parallel") end
  if layer.share then refuse(place .. ": parameters that layers share") end
  if #layer.sublayers ~= 2 then refuse(place .. ": " .. #layer.sublayers .. " sublayers") end
end

local function compare(first, other, place)
  for k, v in pairs(first) do
    if not varies[k] and not same(v, other[k]) then
      refuse(place .. ": another " .. k .. " than the first layer's")
    end
  end
  for k in pairs(other) do
    if not varies[k] and first[k] == nil then
      refuse(place .. ": " .. k .. ", which the first layer has not")
    end
  end
end

-- The one kind of layer that a spec has: { attention = options, mlp = options, ropes = by layer
-- (false: none), windows = by layer (false: none), differs = { attention =, mlp = } }.
function decoder.layers(spec)
  local out
  for i, layer in ipairs(spec.layers) do
    local place = "layers." .. i - 1
    check_layer(layer, place)
    local a = plain_sublayer(layer.sublayers[1], place, "attention")
    local m = plain_sublayer(layer.sublayers[2], place, "mlp")
    out = out or { attention = a, mlp = m, ropes = {}, windows = {}, differs_by_layer = {},
                   differs = { attention = {}, mlp = layer.sublayers[2].differs } }
    compare(out.attention, a, place .. ".attention")
    compare(out.mlp, m, place .. ".mlp")
    out.ropes[i], out.windows[i] = a.rope or false, a.window or false
    out.differs_by_layer[i] = layer.sublayers[1].differs
    for name in pairs(layer.sublayers[1].differs) do out.differs.attention[name] = true end
  end
  return out
end

-- Nothing but what 'allowed' names differs from what options are without being said.
function decoder.only(differs, allowed, place)
  for name in pairs(differs) do
    if not allowed[name] then refuse(place .. ": " .. name) end
  end
end

-- A copy of a table with other fields.
function decoder.with(t, more)
  local out = {}
  for k, v in pairs(t) do out[k] = v end
  for k, v in pairs(more) do out[k] = v end
  return out
end

-- The one rope of all layers, or of those that 'among' picks by number; lacks: some may have none.
function decoder.rope(d, lacks, among)
  local rope
  for i, r in ipairs(d.ropes) do
    local counts = not among or among(i)
    if counts and not r and not lacks then
      refuse("layers." .. i - 1 .. ": attention without rope")
    end
    if counts and r and rope and not same(r, rope) then
      refuse("layers." .. i - 1 .. ": another rope")
    end
    if counts and r then rope = r end
  end
  if not rope then refuse("attention without rope") end
  for i, differs in ipairs(d.differs_by_layer) do
    if d.ropes[i] then d.rope_differs = decoder.with(d.rope_differs or {}, differs.rope or {}) end
  end
  return rope
end

-- The window of layers that have one, nil if none has; whether all have; the kind of each, as
-- transformers calls it.
function decoder.windows(d)
  local window, all, kinds = nil, true, {}
  for i, w in ipairs(d.windows) do
    if w and window and w ~= window then refuse("layers." .. i - 1 .. ": another window") end
    window, all = w or window, all and w
    kinds[i] = w and "sliding_attention" or "full_attention"
  end
  return window, all, kinds
end

function decoder.head_dim(spec, attention)
  return attention.head_dim or spec.dim // attention.heads
end

-- "all", "qkv" or "none": which projections have a bias.
function decoder.biases(attention)
  local bias = attention.bias
  if type(bias) ~= "table" then return bias and "all" or "none" end
  local has = {}
  for _, name in ipairs(bias) do has[name] = true end
  if has.q and has.k and has.v then return has.o and "all" or "qkv" end
  if not (has.q or has.k or has.v or has.o) then return "none" end
  refuse("layers.0.attention: biases of some of q, k and v")
end

-- Parameters of a layer as the target's, names by ours; biases where there are any.
--   prefix(i): of layer i's names; names: { ["attention.q"] = "self_attn.q_proj", ... };
--   of(name, ours, part): what is made of a parameter, if not itself
function decoder.tensors(spec, out, names, prefix, of)
  for i = 0, #spec.layers - 1 do
    for ours, theirs in pairs(names) do
      for _, part in ipairs { ".weight", ".bias" } do
        local name = "layers." .. i .. "." .. ours .. part
        if tensors[name] then
          out[prefix(i) .. theirs .. part] = of and of(name, ours, part) or name
        end
      end
    end
  end
  return out
end

return decoder
