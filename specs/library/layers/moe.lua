-- SPDX-License-Identifier: MIT
-- Experts: y = sum of w_e Expert_e(x) over the 'top' experts that a token's router chooses, plus a
-- shared expert.  Experts are chosen by score plus balance bias and weighted by score alone; with
-- groups, they are chosen from the 'top_groups' with the best two experts (DeepSeek-V3, arXiv
-- 2412.19437).  After a step the bias of an expert with more than the mean load moves down by
-- 'balance'. balance_bias = false: experts are chosen by score alone (Mixtral, arXiv 2401.04088).
-- An expert is down(silu(gate x) * up x), or another of mlp's activations. limit = c: gate x is
-- limited to at most c, up x to -c ... c (shared_limit: for the shared expert); gate_cap, up_cap =
-- c: the factor gate x of silu, and up x, become c tanh(x / c). shared_hidden: the shared expert's
-- width, shared * hidden by default; shared_gate: the sigmoid of a product of x multiplies it
-- (arXiv 2407.10671). out_conv: the number of taps of a short convolution after the sum. latent =
-- n: experts work on n numbers, a normed product of x, and a product after their sum restores the
-- width. expert_norm = {}: the output of each expert is multiplied by a shared gain and normed.
-- router_scale: the factor of the products that give the scores. router = { hidden = n }: an MLP of
-- n numbers gives the scores; carry: its input includes that of the previous layer with experts.
-- skip: one more choice, which gives nothing. by_token: a table over the vocabulary chooses
-- experts, and scores only weigh them.
local recurrent = require "recurrent"
local count = { type = "integer", min = 1, max = 64 }
local bound = { type = "number", above = 0 }

-- Only the experts of the best groups stay; a group's score is the sum of its two best.
local function of_groups(o, s)
  local size = o.experts // o.groups
  local by_group = reshape(s, { o.groups, size })
  local best = sum(largest(by_group, size < 2 and 1 or 2) * by_group, 2)
  local stays = reshape(largest(best, o.top_groups or o.groups), { o.groups, 1 })
  return reshape(select(stays, by_group, -1e30), { o.experts })
end

local function matrices(m, site, name, out, k)
  return m:param(site, "experts.*." .. name .. ".weight", { m.options.experts, out, k },
    normal(0.02))
end

-- What a router gives scores of: one product, or an MLP.
local function products(m, site, x, count)
  local o = m.options
  if not o.router then return m:linear(site, "router", x, count) end
  local n = o.router.hidden
  local r = m:linear(site, "router.down", x, n, true)
  if o.router.carry then
    local earlier = m:kept("router")
    if #earlier > 0 then r = r + earlier[#earlier] * m:param(site, "router.carry", { n }, 1) end
    m:keep("router", r)
  end
  local h = m:norm(site.prefix .. ".router.norm", r)
  for _, name in ipairs { "router.first", "router.second" } do
    h = gelu(m:linear(site, name, h, n, true))
  end
  return m:linear(site, "router.out", h, count)
end

-- [E] for each token of x: how often a table names each expert for the token's id, by its number
-- from 0 or what is nearest to it.  Nothing trains the table: what it begins with, by chance,
-- stays.
local function listed(m, site, x)
  local o, E = m.options, m.options.experts
  local table_of = m:buffer(site, "router.table", { m.vocab, o.top },
    uniform(-0.5, E - 0.5))
  local names, numbers = embed(table_of, tokens(), { of = x }), {}
  for e = 1, E do numbers[e] = e - 1 end
  local apart = reshape(names, { o.top, 1 }) - reshape(stack(numbers), { 1, E })
  return sum(step(0.5 - abs(apart)), 1)
end

-- Marks the experts of a token by their scores; a bias learns to spread the load.
local function choice(m, site, s)
  local o, bias = m.options, nil
  if o.by_token then return chosen(listed(m, site, s), o.top) end
  if o.balance_bias then
    bias = m:buffer(site, "router.balance_bias", { s:shape()[1] }, 0)
    s = s + bias
  end
  if o.groups > 1 then s = of_groups(o, s) end
  local mask = largest(s, o.top)
  if bias then
    m:rule(bias, token_sum(mask), function(b, load)
      local sign = step(mean(load, 1) - load) - step(load - mean(load, 1))
      return b + o.balance * (sign - mean(sign, 1))
    end)
  end
  return chosen(o.skip and slice(mask, 1, 1, o.experts) or mask, o.top)
end

local scores = {
  sigmoid = sigmoid,
  softmax = function(z) return softmax(z, 1) end,
  -- far below 0 the root of what underflows has no slope
  sqrt_softplus = function(z) return sqrt(max(softplus(z), 1e-30)) end,
}

-- silu(gate) * up, or what else is the activation, with what the options bound
local function activated(o, gate, up)
  local factor = gate
  if o.limit then
    gate, up = min(gate, o.limit), min(max(up, -o.limit), o.limit)
    factor = gate
  end
  if o.gate_cap then factor = softcap(gate, o.gate_cap) end
  if o.up_cap then up = softcap(up, o.up_cap) end
  if o.activation ~= "swiglu" then return activations.gated[o.activation](gate) * up end
  return factor * sigmoid(gate) * up
end

-- What the chosen experts make of x [width], weighted by w [top] and added up.
local function worked(m, site, x, places, w, width)
  local o = m.options
  local h = activated(o, expert_linear(x, matrices(m, site, "gate", o.hidden, width), places),
    expert_linear(x, matrices(m, site, "up", o.hidden, width), places))
  local weight = reshape(w, { o.top, 1 })
  if not o.expert_norm then h = h * weight end
  local y = expert_linear(h, matrices(m, site, "down", width, o.hidden), places)
  if not o.expert_norm then return sum(y, 1) end
  y = y * m:param(site, "expert_norm.weight", { width }, 1)
  local r = rsqrt(mean(y * y, 2) + (o.expert_norm.eps or m.eps))
  return sum(y * (reshape(r, { o.top, 1 }) * weight), 1)
end

return sublayer {
  name = "mlp",
  options = {
    experts = { type = "integer", min = 1, max = 65536, required = true },
    top = { type = "integer", min = 1, required = true },
    hidden = { type = "integer", min = 1, max = (1 << 31) - 1, required = true },
    shared = { type = "integer", min = 0, max = 1024, default = 0 },
    shared_hidden = { type = "integer", min = 1, max = (1 << 31) - 1 },
    shared_gate = { type = "boolean", default = false },
    activation = { type = "string", one_of = activations.gated_names, default = "swiglu" },
    score = { type = "string", one_of = { "sigmoid", "softmax", "sqrt_softplus" },
              default = "sigmoid" },
    groups = { type = "integer", min = 1, default = 1 },
    top_groups = { type = "integer", min = 1 },
    normalize = { type = "boolean", default = true },
    scale = { type = "number", default = 1 },
    balance = { type = "number", min = 0, default = 1e-3 },
    balance_bias = { type = "boolean", default = true },
    router = { type = "table", fields = {
      hidden = { type = "integer", min = 1, max = 1 << 20, required = true },
      carry = { type = "boolean", default = false } } },
    skip = { type = "boolean", default = false },
    by_token = { type = "boolean", default = false },
    router_scale = { type = "number", above = 0, default = 1 },
    latent = { type = "integer", min = 1, max = (1 << 31) - 1 },
    expert_norm = { type = "table", fields = { eps = { type = "number", min = 0 } } },
    limit = bound, shared_limit = bound, gate_cap = bound, up_cap = bound, out_conv = count,
  },
  check = function(o)
    if o.shared_gate and o.shared == 0 and not o.shared_hidden then
      error("moe: expected a shared expert with shared_gate, found none")
    end
    local groups, kept = o.groups, o.top_groups or o.groups
    if o.gate_cap and o.activation ~= "swiglu" then
      error("moe: expected no gate_cap with activation = '" .. o.activation .. "', found one")
    end
    if o.skip and groups > 1 then error("moe: expected no skip with groups, found it") end
    if o.by_token and (o.skip or groups > 1) then
      error("moe: expected no " .. (o.skip and "skip" or "groups") .. " with by_token, whose table "
        .. "says which experts, found " .. (o.skip and "it" or groups))
    end
    if o.experts % groups ~= 0 then
      error("moe: expected groups to divide experts = " .. o.experts .. ", found " .. groups)
    end
    if kept > groups then
      error("moe: expected top_groups to be at most groups = " .. groups .. ", found " .. kept)
    end
    local most = o.experts // groups * kept
    if o.top > most then
      error("moe: expected top to be at most " .. most .. ", the experts there are to choose from, "
        .. "found " .. o.top)
    end
  end,
  forward = function(m, site, x)
    local o, D = m.options, m.options.latent or m.dim
    local z = products(m, site, x, o.experts + (o.skip and 1 or 0))
    if o.router_scale ~= 1 then z = o.router_scale * z end
    local s = scores[o.score](z)
    local places = choice(m, site, s)
    if o.by_token then s = s * listed(m, site, s) end
    local w = pick(o.skip and slice(s, 1, 1, o.experts) or s, places)
    if o.normalize then w = w / (sum(w, 1) + 1e-20) end
    if o.scale ~= 1 then w = o.scale * w end
    local from = x
    if o.latent then
      from = m:norm(site.prefix .. ".latent_norm", m:linear(site, "latent_down", x, D))
    end
    local y = worked(m, site, from, places, w, D)
    if o.latent then y = m:linear(site, "latent_up", y, m.dim) end
    local hidden = o.shared_hidden or o.shared * o.hidden
    if hidden > 0 then
      local all = m:linear(site, "shared.down", activated({ limit = o.shared_limit,
          activation = o.activation },
        m:linear(site, "shared.gate", x, hidden), m:linear(site, "shared.up", x, hidden)), m.dim)
      if o.shared_gate then all = all * sigmoid(m:linear(site, "shared.share", x, 1)) end
      y = y + all
    end
    return o.out_conv and recurrent.residual_conv(m, site, "out_conv", y, o.out_conv) or y
  end,
}
