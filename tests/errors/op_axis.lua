local y = sum(wave { 1, 2 }, 2)    --> sum: expected an axis from 1 to 1 or from -1 to -1, found 2
