local list = rows(reshape(slice(random(1), 1, 1, 1), {}))
local y = random(8, { of = list })    --> random: expected of to be a tensor of tokens, found what rows() returned
