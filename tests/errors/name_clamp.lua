local y = clamp(1, 2)    --> expected a name that is defined, found 'clamp': it is min(max(x, low), high)
