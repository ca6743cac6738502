-- SPDX-License-Identifier: MIT
-- Functions of importers and exporters that make tensors from others.  Their results are tables,
-- which compiler/spec/importer_plan.c reads.
local recipes = {}

local function recipe(op)
  return function(x, a, b, c) return { op = op, x, a, b, c } end
end
for _, op in ipairs { "slice", "transpose", "reshape", "plus", "scaled" } do
  recipes[op] = recipe(op)
end
function recipes.concat(list, axis) return { op = "concat", list, axis or 1 } end
function recipes.constant(value, shape) return { op = "constant", value, shape } end

return recipes
