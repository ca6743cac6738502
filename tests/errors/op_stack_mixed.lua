local y = stack { wave { 1 }, 'x' }    --> stack: expected a list of tensors, found a string at place 2
