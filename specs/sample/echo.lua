-- A mixer of our own, in no paper: two streams at two speeds.  The fast one is
-- the ordinary residual stream.  The slow one is a moving average of what was
-- written, with a learned speed a channel; a sublayer hears as much of that
-- echo as it asks for.
--   read   h = fast + gain * slow         write  fast + out,  slow + speed * (out - slow)
local function hear(m, state, site)
  m:sources(2)
  return state.fast + m:param(site, "gain", { m.dim }, "zeros") * state.slow
end

return mixer {
  options = { speed = { type = "number", min = -10, max = 10, default = -1 } },

  open = function(m, e)
    return { fast = e, slow = e }
  end,

  read = hear,

  write = function(m, state, site, out)
    local speed = sigmoid(m:param(site, "speed", { m.dim }, m.options.speed))
    return { fast = state.fast + out, slow = state.slow + speed * (out - state.slow) }
  end,

  close = hear,
}
