require(3)    --> require: expected a name, found a number
