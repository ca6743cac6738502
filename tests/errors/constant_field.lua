local s = constant { warmup = 1 }    --> constant: expected fields out of none, found 'warmup'
