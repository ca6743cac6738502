local y = sum(per_token(), 1)    --> sum: expected a tensor with an axis, found one without
