/* SPDX-License-Identifier: MIT
** A graph as a loaded library.  The five regions end right before a page that
** nobody may touch, the arena starts as NaNs, and the weights are read-only but
** for an update: a stray access is a signal, a value read before it is written
** shows.  What may end in a signal or in bug() runs in a process of its own
** (apart); nothing here asserts with cmocka, which would jump out of it: it aborts.
*/
#ifndef TESTS_COMPILED_H
#define TESTS_COMPILED_H

#include "codegen.h"
#include "numeric.h"

typedef struct Compiled {
    void *library;
    strata_api api;
    const strata_model *model;
    size_t size; /* of the object */
} Compiled;

/* Compiles a graph with outputs "logits", "nll", "cross_entropy" and "loss",
** links it and loads it. */
void compiled_open(Compiled *c, const Graph *g, const ModelInfo *info, const CodegenOptions *o);
void compiled_close(Compiled *c);
/* What the descriptor says of a graph that no spec made. */
ModelInfo compiled_info(const Graph *g, int64_t context);

/* The OpenBLAS that models with other than generated products are linked with; NULL: tests of them
** are skipped. */
const char *compiled_openblas(void);

/* Processors that this machine can run code for: "x86-64-v2", ..., NULL. */
const char *const *compiled_cpus(void);
/* STRATA_TEST_EVERY=n: of many models every n-th, for slow checkers; 1 without. */
int compiled_every(void);

/* Memory between two pages that must not be touched. */
typedef struct Guarded {
    void *at;
    size_t size;
    void *map;
    size_t mapped;
} Guarded;
void guarded_open(Guarded *r, size_t size); /* filled with NaNs */
void guarded_close(Guarded *r);
void guarded_writable(const Guarded *r, bool yes);

/* A compiled model's context and regions, for calls of at most 'tokens' tokens. */
typedef struct Instance {
    const Compiled *c;
    Guarded ctx, weights, train, arena;
    struct strata_pool *pool; /* NULL: one worker, serial */
    int workers;
} Instance;

void instance_open(Instance *r, const Compiled *c, int64_t tokens, int workers);
void instance_close(Instance *r);
/* init once more; its workers are the instance's */
void instance_set_up(Instance *r, strata_setup s);
/* An empty state in memory that was zero, to be closed. */
Guarded instance_state(const Instance *r, int64_t context);
void instance_arena(Instance *r, int64_t tokens); /* a fresh one, exactly as large as said */
void instance_weights(Instance *r, const Case *values);
/* aborts if there is none, or it is bfloat16 */
float *instance_weight(Instance *r, const char *name, int64_t *count);
/* element k, rounded if it is bfloat16 */
/* Of small weights all numbers of a tensor come in order. */
void instance_put(Instance *r, const strata_tensor *t, int64_t k, float value);
/* An update as tests make it: all settings but these two are the same everywhere. */
strata_adamw instance_adamw(double grad_scale, int64_t step);
float *instance_gradient(const Instance *r, const char *name);

/* fn(arg) in a process of its own; its status, or 128 + the signal that ended it. */
int apart(int (*fn)(void *arg), void *arg);

#endif
