local y = tokens() + 1    --> add: expected operands that fit (numbers and ids do not mix), found int32[tokens] (
