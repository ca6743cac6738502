/* SPDX-License-Identifier: MIT
** Compares the values of a spec's options with which weights were trained, as their file records
** them, with those of the model that reads them: with other values it computes something else.
*/
#ifndef STRATA_TRAINED_OPTIONS_H
#define STRATA_TRAINED_OPTIONS_H

#include "json.h"
#include "safetensors.h"

/* A value of an option as -D takes it; NULL: it has none. */
const char *option_value(const JsonNode *n);
/* Is it what -D NAME=TEXT chooses?  Numbers are compared as such: 64 is 64.0. */
bool option_value_is(const JsonNode *n, const char *text);

/* Who reads weights. */
typedef struct ReadingModel {
    const char *options; /* JSON: {"width": 64} */
    uint64_t function;   /* see abi.h; 0: not known */
    const char *changed; /* names with commas: their values may differ; NULL: none may */
    const char *spec;    /* of a command of strata; NULL: a program, built with its values */
    bool goes_on;        /* with a run: nothing may differ */
} ReadingModel;

/* Is 'name' one of the names in a list with commas? */
bool option_is_listed(const char *list, const char *name);

/* STATUS_USER where an option of both has another value now, unless the model computes the same all
** the same, as it does where a value is of training alone. */
int trained_options_check(const Safetensors *s, const ReadingModel *m, Error *e);

#endif
