require '..secret'    --> require: expected the name of a file in the spec's folder, without '.lua', found '..secret'
