/* SPDX-License-Identifier: MIT
** See golden_write.h.  Apart from what reads graphs: two of the headers share a name. */
#include "golden_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

enum { MOST = 1024 };

struct GoldenOut {
    TensorList list;
    void *data[MOST];
    int count;
};

static void must(int status, const Error *e) {
    if (!status) return;
    fprintf(stderr, "%s\n", e->text);
    abort();
}

GoldenOut *golden_out_new(void) {
    GoldenOut *o = calloc(1, sizeof *o);
    if (!o) abort();
    return o;
}

static int64_t elements(int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    return n;
}

static void *add(GoldenOut *o, const char *name, Dtype type, int rank, const int64_t *shape) {
    Error e = { 0 };
    void *data = calloc((size_t)elements(rank, shape) + 1, (size_t)dtype_size(type));
    if (!data || o->count == MOST) abort();
    o->data[o->count++] = data;
    must(tensors_add(&o->list, "", name, type, rank, shape, data, &e), &e);
    return data;
}

void golden_out_values(GoldenOut *o, const char *name, int rank, const int64_t *shape,
                       const double *values) {
    float *to = add(o, name, DTYPE_F32, rank, shape);
    for (int64_t i = 0; i < elements(rank, shape); i++)
        to[i] = (float)values[i];
}

void golden_out_ids(GoldenOut *o, const char *name, int rank, const int64_t *shape,
                    const int32_t *ids) {
    memcpy(add(o, name, DTYPE_I32, rank, shape), ids, (size_t)elements(rank, shape) * sizeof *ids);
}

void golden_out_number(GoldenOut *o, const char *name, double value) {
    *(double *)add(o, name, DTYPE_F64, 1, &(int64_t){ 1 }) = value;
}

void golden_out_write(GoldenOut *o, const char *path) {
    Error e = { 0 };
    must(safetensors_write(path, &o->list, NULL, 0, 0, &e), &e);
    tensors_free(&o->list);
    for (int i = 0; i < o->count; i++)
        free(o->data[i]);
    free(o);
}
