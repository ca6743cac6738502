local y = wave { 1 } < wave { 2 }    --> expected numbers to compare, found tensors; of those max(a, b), min(a, b) and greater(a, b) are tensors
