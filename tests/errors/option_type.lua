local o = option { a = 1,
  mixer = { default = standard {} } }    --> option: expected mixer to have a type, 'integer', 'number', 'boolean' or 'string', found a mixer
