local r = mod { capacity = 0.5 }    --> expected a constructor of this version, found 'mod', which is not in this version
