local a = adamw { lr = 1e-3, betas = { 0.9 } }    --> adamw: expected betas to be a list of 2 values, each a number of at least 0 and below 1, found a table
