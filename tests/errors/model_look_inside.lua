local n = rmsnorm {}
local e = n.eps          --> expected an object that is only passed on, found an attempt to look inside it
