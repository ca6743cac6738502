local y = wave { 'a' }    --> wave: expected frequencies that are finite numbers, found a
