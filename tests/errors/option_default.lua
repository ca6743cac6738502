local o = option {
  width = {
    type = "integer", min = 8,
    default = 4,    --> option: expected the default of width to be an integer of at least 8, found the number 4
  },
}
