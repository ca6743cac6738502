local y = wave { 1 } < wave { 2 }    --> expected two numbers or two strings to compare, found two tensor values
