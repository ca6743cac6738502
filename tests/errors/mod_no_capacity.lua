local r = mod {}    --> mod: expected the field 'capacity', a number greater than 0 and at most 1, found none
