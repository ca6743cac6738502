assert(1 == 2, 'one is not two')    --> one is not two
