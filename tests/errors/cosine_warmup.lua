local s = cosine { warmup = 1.5 }    --> cosine: expected warmup to be a number from 0 to 1, found the number 1.5
