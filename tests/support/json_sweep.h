/* SPDX-License-Identifier: MIT
** Each value of a JSON text, at any depth, in the place of which others come: values of a list, one
** more and one less, lists that are longer and shorter; and each goes.  The text must be valid. */
#ifndef TESTS_JSON_SWEEP_H
#define TESTS_JSON_SWEEP_H

#include "json.h"
#include "sweep.h"

typedef struct JsonEdit {
    const Text *text;           /* that comes of it */
    const char *field;          /* the innermost member that the value is, or is in; else "" */
    const char *path;           /* of the value, as "a.b[2].c" */
    const char *before, *after; /* texts of the value that was there and that came; "": none */
} JsonEdit;

typedef struct JsonSweep {
    const char *const *values; /* besides those that everything has; NULL ends them; NULL: none */
    const char *const *fields; /* members that the text gets where it has none; likewise */
    void (*attempt)(void *user, const JsonEdit *x);
    void *user;
} JsonSweep;

void json_sweep(const JsonSweep *w, Sweep *s, const char *text);

#endif
