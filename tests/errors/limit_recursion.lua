local function f() return 1 + f() end    --3> expected calls nested less deeply, found stack overflow
f()
