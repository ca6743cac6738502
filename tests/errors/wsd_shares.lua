local s = wsd { warmup = 0.6, decay = 0.6 }    --> wsd: expected warmup and decay to be at most 1 together, found 1.2
