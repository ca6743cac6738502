return { name = "m" }          --> expected the spec to return model { ... }, found a table
