/* SPDX-License-Identifier: MIT
** See fuzz.h. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

void fuzz_broken(const char *promise) {
    fprintf(stderr, "broken: %s\n", promise);
    abort();
}
