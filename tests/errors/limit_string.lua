local s = 'x'
while true do s = s .. s end    --3> expected to need at most 8000000 bytes of memory, found more
