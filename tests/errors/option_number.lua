local o = option { 3 }    --> option: expected names of at most 63 letters, digits and '_', found the number 1
