return model "m"               --> model: expected a table of fields, model { ... }, found the string 'm'
