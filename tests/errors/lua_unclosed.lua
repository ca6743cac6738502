return model {
  name = 'm'
-- the end                    --> expected '}' (to close '{' at line 1), found <eof>