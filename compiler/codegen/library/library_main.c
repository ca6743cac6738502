/* SPDX-License-Identifier: MIT
** Part of building the compiler: writes the kernel library of a level as an object.
**   strata-library LEVEL FILE
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen.h"

static int main_find(const char *name) {
    int i = codegen_libraries();
    while (i-- > 0 && strcmp(codegen_library_name(i), name))
        ;
    return i;
}

int main(int count, char **argument) {
    void *data;
    size_t size;
    Error e = { 0 };
    int library = count == 3 ? main_find(argument[1]) : -1;
    if (library < 0) return fprintf(stderr, "usage: strata-library LEVEL FILE\n"), 2;
    if (codegen_library(library, &data, &size, &e)) return fprintf(stderr, "%s\n", e.text), 1;
    FILE *f = fopen(argument[2], "wb");
    bool good = f && fwrite(data, 1, size, f) == size && !fclose(f);
    if (!good) perror(argument[2]);
    free(data);
    return !good;
}
