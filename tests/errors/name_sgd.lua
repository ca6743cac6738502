local y = sgd { lr = 1 }    --> expected a name that is defined, found 'sgd': it is not there: optimizers are adamw { ... } and muon { ... }
