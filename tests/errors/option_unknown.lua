local o = option { a = 1,
  width = { defualt = 3, type = "integer" } }    --> option.width: expected fields out of above, any_of, below, default, help, longest, max, min, one_of, required and type, found 'defualt'; did you mean 'default'?
