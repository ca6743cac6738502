-- Sublayers under a route, written out for all tokens, with masks instead of lists of rows: routes
-- are tested against these.  Routers and the sublayers' parameters have the names that they have
-- where a route runs; each is a sublayer that norms what it reads itself.
local dense = require "dense"
local masked = {}
local number = dense.number

-- 'likes': tokens whose p is above 1/2 go through, and p multiplies what comes back.
function masked.likes(name)
  return route {
    sublayer = name,
    run = function(r, site, x, body)
      local p = sigmoid(number(r:linear(site, "router", x, 1, true)))
      return reshape(p, { 1 }) * body { rows = rows(step(p - 0.5)) }
    end,
  } {}
end

-- The same, with more that is asked of the sublayer.
function masked.likes_with(name, more)
  return route {
    sublayer = name,
    run = function(r, site, x, body)
      local p = sigmoid(number(r:linear(site, "router", x, 1, true)))
      local asked = { rows = rows(step(p - 0.5)) }
      for field, value in pairs(more) do asked[field] = value end
      return reshape(p, { 1 }) * body(asked)
    end,
  } {}
end

local function likes(m, prefix, x)
  local p = sigmoid(number(m:linear(prefix, "router", x, 1, true)))
  return p, step(p - 0.5)
end

-- dtr's router, whose tokens that do not attend get nothing
local function dtr(m, prefix, x)
  local h = m:linear(prefix, "router.hidden", x, m.dim // 2, true)
  local z = m:linear(prefix, "router.out", h / (1 + exp(-h)), 2, true)
  local a, b = exp(number(slice(z, 1, 1, 1))), exp(number(slice(z, 1, 2, 1)))
  return a / (a + b), greater(a, b)
end

local routers = { likes = likes, dtr = dtr, skip = function(m, prefix, x)
  local p = dtr(m, prefix, x)
  return p, p * 0
end }

-- f(m, site, x, mask): what a sublayer makes of the normed x
local function under(router, f)
  return sublayer { forward = function(m, site, x)
    local gate, mask = routers[router](m, "layers." .. site.layer, x)
    local y = f(m, site, m:norm(site.prefix .. ".norm", x), reshape(mask, { 1 }))
    return reshape(gate, { 1 }) * reshape(mask, { 1 }) * y
  end }
end

local function heads(m, site, name, x, H) return reshape(m:linear(site, name, x, m.dim), { H, m.dim // H }) end

-- Attention among the tokens of a mask: by as much as 1000 others are lowered. 'more': of scores, of
-- each key.
local function attend(m, site, q, k, v, mask, scale, more)
  local H, far = q:shape()[1], (mask - 1) * 1000
  local function one(x) return reshape(concat({ x, x, x, x }, 1), { 4, 1 }) end
  local score = more and more + far or far
  local d = v:shape()[2]
  q = concat({ q, one(mask * 0 + 1) }, 2)
  k = concat({ k, (one(score) / scale) }, 2)
  return m:linear(site, "o", reshape(attention(q, k, v, { causal = true, scale = scale }), { H * d }), m.dim)
end

local function softmax_attention(m, site, x, mask)
  local d = m.dim // 4
  return attend(m, site, heads(m, site, "q", x, 4), heads(m, site, "k", x, 4), heads(m, site, "v", x, 4), mask, d ^ -0.5)
end

local function turned(m, site, x, mask)
  local d = m.dim // 4
  return attend(m, site, rope(heads(m, site, "q", x, 4), { theta = 100 }), rope(heads(m, site, "k", x, 4), { theta = 100 }),
    heads(m, site, "v", x, 4), mask, d ^ -0.5)
end

-- How many tokens of the mask there are up to each: a state that each adds to.
local function counted(mask)
  local one = reshape(mask * 0 + 1, { 1, 1 })
  return reshape(recurrence(one, one, reshape(mask, { 1, 1 })), { 1 })
end

-- Scores fall by 1/8 for each token of the list in between.
local function slopes(m, site, x, mask)
  local d = m.dim // 4
  return attend(m, site, heads(m, site, "q", x, 4), heads(m, site, "k", x, 4), heads(m, site, "v", x, 4), mask, d ^ -0.5,
    counted(mask) / 8)
end

local function softplus(x) return log(1 + exp(x)) end

local function unit(x) return x / sqrt(reshape(sum(x * x, 2), { x:shape()[1], 1 }) + 1e-6) end

local function head_norm(m, site, y)
  return y / sqrt(reshape(mean(y * y, 2), { y:shape()[1], 1 }) + m.eps) * m:param(site, "out_norm.weight", { y:shape()[2] }, 1)
end

-- Of tokens outside of the mask a state takes up nothing, and does not decay.
local function gated_delta(m, site, x, mask)
  local H, d = 4, m.dim // 4
  local function stream(name) local y = m:linear(site, name, x, m.dim) return reshape(y / (1 + exp(-y)), { H, d }) end
  local f = m:linear(site, "decay", x, H) + m:param(site, "decay_bias", { H }, 0)
  local y = recurrence(unit(stream "q") * d ^ -0.5, unit(stream "k"), stream "v", {
    decay = mask * -exp(m:param(site, "decay_log", { H }, 0)) * softplus(f),
    delta = mask * sigmoid(m:linear(site, "beta", x, H)),
  })
  local g = m:linear(site, "gate", x, m.dim)
  return m:linear(site, "o", reshape(head_norm(m, site, y), { m.dim }) * g / (1 + exp(-g)), m.dim)
end

local function retention(m, site, x, mask)
  local H, d, fixed = 4, m.dim // 4, {}
  for h = 0, H - 1 do fixed[h + 1] = math.log(1 - 2 ^ (-5 - h)) end
  local y = recurrence(heads(m, site, "q", x, H) * d ^ -0.5, reshape(mask, { 1, 1 }) * heads(m, site, "k", x, H),
    heads(m, site, "v", x, H), { decay = mask * stack(fixed) })
  return m:linear(site, "o", reshape(head_norm(m, site, y), { m.dim }), m.dim)
end

local function wide(m, site, x)
  local g = m:linear(site, "gate", x, 24)
  return m:linear(site, "down", g / (1 + exp(-g)) * m:linear(site, "up", x, 24), m.dim)
end

-- Latent attention, by heads, with a part that turns.
local function latent(m, site, x, mask)
  local H = 4
  local q = reshape(m:linear(site, "q", x, H * 6), { H, 6 })
  local down = m:linear(site, "kv_down", x, 9)
  local c, kr = slice(down, 1, 1, 7), reshape(slice(down, 1, 8, 2), { 1, 2 })
  c = c / sqrt(mean(c * c, 1) + m.eps) * m:param(site, "kv_norm.weight", { 7 }, 1)
  local kv = reshape(m:linear(site, "kv_up", c, H * 9), { H, 9 })
  kr = rope(kr, { theta = 100 })
  q = concat({ slice(q, 2, 1, 4), rope(slice(q, 2, 5, 2), { theta = 100 }) }, 2)
  local k = concat({ slice(kv, 2, 1, 4), concat({ kr, kr, kr, kr }, 1) }, 2)
  return attend(m, site, q, k, slice(kv, 2, 5, 5), mask, 6 ^ -0.5)
end

masked.attention, masked.turned, masked.slopes = softmax_attention, turned, slopes
masked.gated_delta, masked.retention, masked.mlp, masked.latent = gated_delta, retention, wide, latent
masked.under = under

-- Attention that passes the values of the others on.
masked.passing = sublayer { forward = function(m, site, x)
  local p, mask = likes(m, "layers." .. site.layer, x)
  local o = { heads = 4, theta = 100 }
  local from = { prefix = "layers." .. site.layer }
  local n = m:norm(site.prefix .. ".norm", x)
  return reshape(p, { 1 }) * dense.attention(m, from, n, o, mask, true)
end }

-- A field of the user's own: a factor, 1 unless a route gives one.
masked.scaled = sublayer { forward = function(m, site, x)
  return m:linear(site, "o", x, m.dim) * (site.routed and site.routed.factor or 1)
end }

function masked.tripled(m, site, x, mask) return 3 * m:linear(site, "o", x, m.dim) end

-- The rows of a list, of which body is told again, and a field of the user's own.
masked.among = route { run = function(r, site, x, body)
  local list = rows(step(number(r:linear(site, "router", x, 1))))
  local part = gather(x, list)
  return x + scatter(body(part, { rows = list, factor = 3 }) - part, list)
end } {}

masked.written = route { run = function(r, site, x, body)
  local mask = reshape(step(number(r:linear(site, "router", x, 1))), { 1 })
  return x + 3 * mask * (body(x) - x)
end } {}

-- Two forms, of one sublayer, that are the same: what it returns beside its output counts once.
masked.twice = route {
  forms = true, sublayer = "it",
  run = function(r, site, x, body)
    return select(training(), body(), body())
  end,
} {}

masked.lossy = sublayer { forward = function(m, site, x)
  local y = m:linear(site, "o", x, m.dim)
  m:keep("y", y)
  return y + (#m:kept("y") - site.layer), 0.5 * mean(y * y, 1)
end }

-- Sublayers of the user's, that know of no route.
masked.own = sublayer { forward = function(m, site, x)
  local d = m.dim // 4
  local o = attention(heads(m, site, "q", x, 4), heads(m, site, "k", x, 4), heads(m, site, "v", x, 4), { causal = true, scale = d ^ -0.5 })
  return m:linear(site, "o", reshape(o, { m.dim }), m.dim)
end }

masked.own_turned = sublayer { forward = function(m, site, x)
  local d = m.dim // 4
  local function part(name) return rope(heads(m, site, name, x, 4), { theta = 100 }) end
  local o = attention(part "q", part "k", heads(m, site, "v", x, 4), { causal = true, scale = d ^ -0.5 })
  return m:linear(site, "o", reshape(o, { m.dim }), m.dim)
end }

-- ALiBi, whose table depends on places, as a table of each token's own.
masked.own_slopes = sublayer { forward = function(m, site, x)
  local d, list = m.dim // 4, {}
  for i = 0, m.context - 1 do list[i + 1] = -i / 8 end
  local table_of = reshape(stack { 1, 1, 1, 1 }, { 4, 1 }) * reshape(stack(list), { 1, m.context })
    + 0 * reshape(position { number = true }, { 1, 1 })
  local o = attention(heads(m, site, "q", x, 4), heads(m, site, "k", x, 4), heads(m, site, "v", x, 4),
    { causal = true, scale = d ^ -0.5, by_distance = table_of })
  return m:linear(site, "o", reshape(o, { m.dim }), m.dim)
end }

return masked
