local x = string.format('%p', {})    --> format: expected one of %a %c %d %e %f %g %i %o %q %s %u %x, found %p
