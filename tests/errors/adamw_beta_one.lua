local a = adamw { betas = { 0.9, 1 } }    --> adamw: expected betas to be a list of 2 values, each a number of at least 0 and below 1, found a table
