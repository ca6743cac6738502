local y = exp()    --> exp: expected a tensor or a number as argument 1, found nothing
