local o = option {
  width = { type = "integer", min = 8, required = true },    --> option: expected -D width=VALUE, an integer of at least 8, found none
}
