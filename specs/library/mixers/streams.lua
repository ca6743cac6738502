-- What mixers of several streams share.  The state is { X = [n, D] }: the streams.
local streams = {}

streams.option = { type = "integer", min = 1, max = 256, required = true }

function streams.open(m, e)
  local copies = {}
  for i = 1, m.options.streams do copies[i] = e end
  return { X = stack(copies) }
end

-- sum of weight_i X_i, [D], from weights [n]
function streams.read(m, weight, X)
  m:sources(m.options.streams)
  return sum(reshape(weight, { m.options.streams, 1 }) * X, 1)
end

-- X'_j = sum of mix[j,i] X_i + weight_j out
function streams.write(m, mix, weight, X, out)
  local n, D = m.options.streams, m.dim
  local mixed = sum(reshape(mix, { n, n, 1 }) * reshape(X, { 1, n, D }), 2)
  return mixed + reshape(weight, { n, 1 }) * reshape(out, { 1, D })
end

-- A list of n numbers, 'other' but for 'one' at place s mod n (from 0).
function streams.at(n, s, one, other)
  local list = {}
  for i = 1, n do list[i] = i - 1 == s % n and one or other end
  return list
end

return streams
