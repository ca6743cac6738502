require 'no.such'    --> require: expected a file 'no/such.lua' in the spec's folder, found none
