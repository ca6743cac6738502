local a = adamw { clip = 0 }    --> adamw: expected clip to be a number greater than 0, found the number 0
