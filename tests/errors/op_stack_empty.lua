local y = stack {}    --> stack: expected at least one tensor, found an empty list
