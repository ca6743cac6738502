local y = reshape(wave { 1, 2 }, { 'two' })    --> reshape: expected an integer at place 1 of argument 2, found two
