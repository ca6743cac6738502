local o = option { width = 3, [ [[depth]] ] = 4 }
return o.widht    --> option: expected one of depth and width, found 'widht'; did you mean 'width'?
