local o = option { width = 3 }
local p = option {
  width = 4 }    --> option: expected 'width' to be declared once, found it at tests/errors/option_twice.lua:1 too
