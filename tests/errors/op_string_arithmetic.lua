local y = '1' + 1    --> expected a number or tensor to calculate with, found a string value (constant '1')
