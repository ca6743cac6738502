error({})    --> expected an error with a message, found one that is a table
