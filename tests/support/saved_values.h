/* SPDX-License-Identifier: MIT
** A graph's parameters, read by name from a file of weights for the interpreter; all asserts. */
#ifndef TEST_SAVED_VALUES_H
#define TEST_SAVED_VALUES_H

#include "graph.h"
#include "safetensors.h"

typedef struct SavedValues {
    Safetensors file;
    double *by_id[1 << 16];
} SavedValues;

void saved_open(SavedValues *v, const char *path);
/* What EvalInput asks for, of these as its user; it lives until they are forgotten. */
const double *saved_value(void *values, const Node *p);
void saved_forget(SavedValues *v); /* before another graph's are asked for */
void saved_close(SavedValues *v);

#endif
