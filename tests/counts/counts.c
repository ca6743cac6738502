/* SPDX-License-Identifier: MIT
** Runs a compiled model for callgrind, on one thread: a training step, the norm, the optimizer, and
** a few decoded tokens. callgrind writes down what it counted whenever count_edge is called; the
** n-th line printed says what the n-th of those counts was of, "-" for what is not looked at.
** "between" are packing of weights, and the driver's own work between kernels. What is copied and
** cleared is done here, because the C library does it differently on every processor; sizes are
** small, because to valgrind a fused multiply-add is dear.
*/
#include "counts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BATCH = 2,
    TIME = 144,
    TOKENS = BATCH * TIME,
    PROMPT = 64,
    DECODED = 4,
    EDGES = 4096,
    SKIPPED = 77
};

__attribute__((noinline)) void count_edge(void) { __asm__ volatile("" ::: "memory"); }

void *memset(void *to, int value, size_t n) {
    void *at = to;
    size_t words = n / 8;
    uint64_t word = (unsigned char)value * UINT64_C(0x0101010101010101);
    __asm__ volatile("rep stosq" : "+D"(at), "+c"(words) : "a"(word) : "memory");
    n %= 8;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(word) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t n) {
    void *at = to;
    size_t words = n / 8;
    __asm__ volatile("rep movsq" : "+D"(at), "+S"(from), "+c"(words) : : "memory");
    n %= 8;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    if ((uintptr_t)to - (uintptr_t)from >= n) return memcpy(to, from, n);
    void *at = (char *)to + n - 1;
    from = (const char *)from + n - 1;
    __asm__ volatile("std; rep movsb; cld" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    return to;
}

typedef struct Edge {
    const char *what, *name;
} Edge;

typedef struct Run {
    void *ctx, *arena, *state;
    float *weights, *train, *logits;
    int32_t tokens[TOKENS], targets[TOKENS];
    const char *what; /* what is going on */
    Edge edge[EDGES];
    int edges;
} Run;

static void *region(size_t bytes) {
    void *at = aligned_alloc(STRATA_ALIGN, (bytes + STRATA_ALIGN) / STRATA_ALIGN * STRATA_ALIGN);
    if (!at) exit(3);
    return memset(at, 0, bytes);
}

static void check(const Run *r, int32_t status) {
    if (status == STRATA_OK) return;
    fprintf(stderr, "counts: %s\n", counts_message(r->ctx));
    exit(status == STRATA_ERROR_CPU ? SKIPPED : 1);
}

/* The same numbers below 1/2 in size every time. */
static float draw(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-24f - 0.5f;
}

/* What was counted since the last edge is of 'name'; NULL: of nothing. */
static void edge(Run *r, const char *name) {
    count_edge();
    if (r->edges == EDGES) exit(1);
    r->edge[r->edges++] = (Edge){ name ? r->what : "-", name ? name : "-" };
}

static void profile(void *user, int32_t index, int32_t begins, int32_t worker) {
    const strata_model *m = counts_model();
    (void)worker;
    edge(user, begins ? "between" : strata_string(m, strata_kernels(m)[index].name));
}

/* Kernels are counted one by one if 'what' is given. */
static void start(Run *r, const char *what) {
    strata_setup setup = { .struct_size = sizeof setup,
                           .workers = 1,
                           .profile = what ? profile : NULL,
                           .profile_user = r };
    check(r, counts_init(r->ctx, COUNTS_CTX_BYTES, &setup));
    r->what = what;
}

static void train(Run *r) {
    strata_adamw how = { .struct_size = sizeof how,
                         .lr = 1e-3,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .eps = 1e-8,
                         .weight_decay = 0.01,
                         .grad_scale = 1,
                         .step = 1 };
    strata_loss loss = { .struct_size = sizeof loss };
    int64_t all = counts_model()->gradients;
    double squares;
    start(r, "training");
    edge(r, NULL);
    check(r,
          counts_forward_backward(r->ctx, r->weights, r->train, r->arena, r->tokens, r->targets,
                                  BATCH, TIME, 1, 0, NULL, NULL, &loss));
    edge(r, "between");
    check(r, counts_sum_squares(r->ctx, r->train, 0, all, &squares));
    edge(r, "norm");
    check(r, counts_update(r->ctx, r->weights, r->train, 0, all, &how));
    edge(r, "update");
}

static void decode(Run *r) {
    start(r, NULL);
    check(r, counts_state_init(r->ctx, r->state, COUNTS_CONTEXT));
    check(r, counts_prefill(r->ctx, r->weights, r->state, r->arena, r->tokens, PROMPT, r->logits));
    start(r, "decoding");
    edge(r, NULL);
    for (int i = 0; i < DECODED; i++)
        check(r,
              counts_decode(r->ctx, r->weights, &r->state, 1, r->arena, &r->tokens[i], r->logits));
    edge(r, "between");
}

static void open(Run *r) {
    uint32_t seed = 1;
    r->ctx = region(COUNTS_CTX_BYTES);
    r->weights = region(COUNTS_WEIGHTS_BYTES);
    r->train = region(COUNTS_TRAIN_BYTES);
    start(r, NULL);
    r->arena = region(counts_arena_bytes(TOKENS, 1));
    r->state = region(counts_state_bytes(COUNTS_CONTEXT));
    r->logits = region(sizeof(float) * COUNTS_VOCAB);
    for (size_t i = 0; i < COUNTS_WEIGHTS_BYTES / sizeof(float); i++)
        r->weights[i] = 0.125f * draw(&seed);
    for (int i = 0; i < TOKENS; i++)
        r->tokens[i] = i * 37 % COUNTS_VOCAB, r->targets[i] = i * 53 % COUNTS_VOCAB;
}

int main(void) {
    static Run r;
    open(&r);
    train(&r);
    decode(&r);
    for (int i = 0; i < r.edges; i++)
        printf("%s %s\n", r.edge[i].what, r.edge[i].name);
    return 0;
}
