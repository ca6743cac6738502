local y = wave { 1 } : size()    --> expected x:shape(), all there is to ask of a tensor, found 'size'
