local r = mod {}    --> mod: expected the field 'capacity', a number greater than 0, found none
