/* SPDX-License-Identifier: MIT
** Random graphs and random models, compiled, against the interpreter.
** STRATA_FUZZ_SEED and STRATA_FUZZ_COUNT run others; a failure prints the seed
** and the smallest graph, or the spec, that still fails.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "fuzz_graph.h"
#include "fuzz_rows.h"
#include "fuzz_spec.h"
#include "scratch.h"
#include "setting.h"
#include "spec.h"

static uint64_t first_seed(void) { return setting("STRATA_FUZZ_SEED", 1); }
static uint64_t count(uint64_t otherwise) { return setting("STRATA_FUZZ_COUNT", otherwise); }

/* Processors in turn, then what is kept for gradients; every eighth seed optimised. */
static CodegenOptions options(uint64_t seed) {
    const char *const *cpu = compiled_cpus();
    int n = 0;
    while (cpu[n])
        n++;
    return (CodegenOptions){ .cpu = cpu[seed % (uint64_t)n],
                             .level = seed % 8 == 3 ? 2 : 0,
                             .passes.keep = (Keep)(seed / (uint64_t)n % 3) };
}

/* == Graphs =============================================================== */

typedef struct Draw {
    Graph *(*make)(uint64_t seed, int ops);
    uint64_t seed;
    int ops;
    const Extent *extent;
} Draw;

static int run_graph(void *arg) {
    const Draw *d = arg;
    char why[700];
    CodegenOptions o = options(d->seed);
    Answer answer = graph_answer(d->make(d->seed, d->ops), d->seed, &o, d->extent, why, sizeof why);
    if (answer == DIFFERS) fprintf(stderr, "%s\n", why);
    return (int)answer;
}

/* Leaves draws out from the end as long as what is left fails. */
static void report_graph(Draw d, int status) {
    for (int ops = d.ops - 1; ops >= 0; ops--) {
        Draw less = d;
        less.ops = ops;
        int now = apart(run_graph, &less);
        if (now == AGREES || now == SHAKY) break;
        d = less;
        status = now;
    }
    Graph *g = d.make(d.seed, d.ops);
    graph_print(g, stderr, false);
    graph_free(g);
    fail_msg("seed %llu, %d draws: status %d", (unsigned long long)d.seed, d.ops, status);
}

static void check_graphs(Graph *(*make)(uint64_t, int), int ops, uint64_t graphs,
                         const Extent *extent) {
    uint64_t shaky = 0;
    for (uint64_t i = 0; i < graphs; i++) {
        Draw d = { make, first_seed() + i, ops, extent };
        int status = apart(run_graph, &d);
        shaky += status == SHAKY;
        if (status != AGREES && status != SHAKY) report_graph(d, status);
    }
    /* a few random graphs have no answer in float32: ties, numbers that are all rounding */
    assert_true(shaky <= 1 + graphs / 8);
}

static void graphs_of_every_op_agree(void **state) {
    (void)state;
    static const Extent extent[] = { { 2, FUZZ_CONTEXT - 1 }, { 3, FUZZ_CONTEXT }, { 0 } };
    check_graphs(fuzz_model, 25, count(20), extent);
}

static void graphs_of_rows_agree(void **state) {
    (void)state;
    static const Extent extent[] = { { 1, 3 }, { 5, 14 }, { 0 } };
    check_graphs(fuzz_rows, 25, count(30), extent);
}

/* == Models =============================================================== */

typedef struct Trial {
    uint64_t seed;
    const char *path;
} Trial;

static int run_spec(void *arg) {
    const Trial *t = arg;
    char inner[600];
    Error error;
    Model *m = spec_load(t->path, NULL, &error);
    if (!m) return fprintf(stderr, "%s\n", error.text), 2;
    CodegenOptions o = options(t->seed);
    Graph *g = m->graph;
    Extent extent[] = { { 2, m->context },
                        { 1, 1 + (int64_t)(t->seed % (uint64_t)m->context) },
                        { 0 } };
    m->graph = NULL; /* the answer frees it, and the names in it */
    bool agrees = graph_answer(g, t->seed, &o, extent, inner, sizeof inner) == AGREES;
    if (!agrees) fprintf(stderr, "%s\n", inner);
    spec_free(m);
    return !agrees;
}

static void random_models_agree(void **state) {
    for (uint64_t i = 0; i < count(24); i++) {
        char path[SCRATCH_PATH];
        Trial t = { first_seed() + i, scratch_path(state, "fuzz.lua", path) };
        char *text = fuzz_spec(t.seed);
        scratch_write(path, text, strlen(text));
        int status = apart(run_spec, &t);
        if (status) {
            fprintf(stderr, "%s", text);
            fail_msg("seed %llu: status %d", (unsigned long long)t.seed, status);
        }
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_of_every_op_agree),
        cmocka_unit_test(graphs_of_rows_agree),
        cmocka_unit_test(random_models_agree),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
