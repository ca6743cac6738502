/* SPDX-License-Identifier: MIT
** See saved_values.h. */
#include "saved_values.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = sizeof((SavedValues *)0)->by_id / sizeof(double *) };

void saved_open(SavedValues *v, const char *path) {
    Error e = { 0 };
    memset(v, 0, sizeof *v);
    assert_int_equal(safetensors_open(&v->file, path, &e), 0);
}

const double *saved_value(void *values, const Node *p) {
    SavedValues *v = values;
    Error e = { 0 };
    const Tensor *t = safetensors_find(&v->file, p->attr->name);
    if (!t) fail_msg("no tensor %s", p->attr->name);
    assert_true(p->id < NODES);
    double **x = &v->by_id[p->id];
    if (!*x) {
        *x = malloc((size_t)t->count * sizeof **x);
        assert_int_equal(safetensors_read_f64(&v->file, t, *x, &e), 0);
    }
    return *x;
}

void saved_forget(SavedValues *v) {
    for (int i = 0; i < NODES; i++)
        free(v->by_id[i]), v->by_id[i] = NULL;
}

void saved_close(SavedValues *v) {
    saved_forget(v);
    safetensors_close(&v->file);
}
