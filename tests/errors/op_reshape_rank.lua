local y = reshape(wave { 1, 2 }, { 1, 1, 1, 1, 2 })    --> reshape: expected at most 4 axes, found 5
