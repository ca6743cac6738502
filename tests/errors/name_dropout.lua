local y = dropout    --> expected a name that is defined, found 'dropout': it is a field of every sublayer: attention { heads = 4, dropout = 0.1 }
