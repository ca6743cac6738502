-- SPDX-License-Identifier: MIT
-- The permutations of n things in lexicographic order, and matrices that are sums of them.
local permutations = {}

function permutations.count(n)
  return n < 2 and 1 or n * permutations.count(n - 1)
end

-- All of them, each a list of places 1 ... n.
function permutations.all(n)
  local list, p, used = {}, {}, {}
  local function choose(i)
    if i > n then list[#list + 1] = { table.unpack(p) } end
    for j = 1, n do
      if i <= n and not used[j] then
        p[i], used[j] = j, true
        choose(i + 1)
        used[j] = false
      end
    end
  end
  choose(1)
  return list
end

-- M[i,j] = sum of weight_p over the permutations p with p(i) = j, [n, n] from [n!]
function permutations.mix(weight, n)
  local entries = {}
  for k = 0, n * n - 1 do entries[k + 1] = {} end
  for index, p in ipairs(permutations.all(n)) do
    for i, j in ipairs(p) do table.insert(entries[(i - 1) * n + j], slice(weight, 1, index, 1)) end
  end
  for k, parts in ipairs(entries) do entries[k] = sum(stack(parts), 1) end
  return reshape(concat(entries, 1), { n, n })
end

return permutations
