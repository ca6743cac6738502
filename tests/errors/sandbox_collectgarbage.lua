local x = collectgarbage    --> expected a name that is defined, found 'collectgarbage'
