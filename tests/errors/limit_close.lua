local closing = setmetatable({}, { __close = function() while true do end end })    --3> expected at most 2000000 instructions, found more
do local x <close> = closing end
