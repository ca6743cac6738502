/* SPDX-License-Identifier: MIT
** Memory outside of arenas; see fatal.h. */
#include "fatal.h"
#include "pages.h"

#include <stdlib.h>
#include <string.h>

void *checked_new(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory && pages_leave()) memory = calloc(count ? count : 1, size);
    return checked(memory);
}

void *checked_more(void *p, size_t count, size_t size) {
    return checked(reallocarray(p, count, size));
}

char *checked_text(const char *text) { return checked(strdup(text)); }

FILE *checked_file(char **text, size_t *size) { return checked(open_memstream(text, size)); }

void checked_written(FILE *f, char **text) {
    bool failed = ferror(f);
    checked(fclose(f) || failed ? NULL : *text);
}
