-- Names that are planned, so that a spec using one learns that it is not misspelt.
local names = { "moe" }
for _, name in ipairs(names) do
  publish(name, core.wrap(function()
    error("expected a constructor of this version, found '" .. name
      .. "', which is not in this version")
  end))
end
