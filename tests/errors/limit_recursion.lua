local function f() return 1 + f() end    --3> expected to need at most 8000000 bytes of memory, found more
f()
