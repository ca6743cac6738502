local x = coroutine    --> expected a name that is defined, found 'coroutine'
