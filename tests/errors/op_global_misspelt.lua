local y = sofmax(1)    --> expected a name that is defined, found 'sofmax'; did you mean 'softmax'?
