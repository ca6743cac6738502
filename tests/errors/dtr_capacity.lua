local r = dtr { capacity = 0.5 }    --> dtr: expected a capacity with choice = 'expert', and only there, found capacity = 0.5 with choice = 'token'
