while true do end    --3> expected at most 2000000 instructions, found more
