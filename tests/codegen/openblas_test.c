/* SPDX-License-Identifier: MIT
** Models whose products OpenBLAS does: against the interpreter, the same bits for any number of
** threads, the generated program where the setup asks for it, and who multiplies by what was
** measured.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "planned.h"
#include "fuzz_graph.h"
#include "fuzz_rows.h"
#include "scratch_spec.h"

enum { TIME = 150, BATCH = 5 };

/* All orientations, products that add to what is there (tied head, attnres's reads of one weight),
** lists of rows, more tokens than a task takes. */
static const char spec[] =
    "return model { name = 'm', vocab = 67, context = 150, dim = 40, norm = rmsnorm {}, "
    "embedding = { tied = true }, residual = %s,\n"
    "  layers = times(2, layer { attention { heads = 4, kv_heads = 2, rope = {} }, "
    "mlp { hidden = 72, activation = 'swiglu' }, route = %s }) }\n";

typedef struct SpecKind {
    const char *residual, *route;
} SpecKind;

static const SpecKind kinds[] = {
    { "haares { blocks = 2 }", "nil" },
    { "attnres { blocks = 2 }", "dtr {}" },
    { "standard {}", "mod { capacity = 0.5 }" },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void write_spec(char *text, size_t size, SpecKind k) {
    snprintf(text, size, spec, k.residual, k.route);
}

static void open_spec(void **state, Built *b, SpecKind kind, CodegenOptions o) {
    char text[1024], path[SCRATCH_PATH];
    write_spec(text, sizeof text, kind);
    o.prefix = "m";
    o.cpu = o.cpu ? o.cpu : "native";
    built_open(b, scratch_path(state, "m.lua", path), text, &o);
}

typedef struct Numbers {
    float *logits, *gradients, *decoded;
    int64_t nlogits, ngradients;
    double loss;
} Numbers;

static const int prompts[] = { 3, 130 };

static Numbers numbers_of(const Built *b, int workers, uint32_t flags) {
    Numbers n = { .nlogits = BATCH * TIME * b->c.model->vocab,
                  .ngradients = gradient_floats(&b->c) };
    strata_loss loss = { .struct_size = sizeof loss };
    Instance r;
    instance_open(&r, &b->c, BATCH * TIME, workers);
    instance_set_up(&r, (strata_setup){ .flags = flags });
    instance_fill(&r, 7);
    int32_t *ids = some_ids(&b->c, 1, BATCH * TIME), *targets = some_ids(&b->c, 2, BATCH * TIME);
    n.logits = logits_of(&r, ids, BATCH, TIME);
    n.gradients = gradients_of(&r, ids, targets, BATCH, TIME, &loss);
    n.decoded = decoded_logits(&r, ids, 2, TIME, prompts);
    n.loss = loss.loss;
    free(ids), free(targets);
    instance_close(&r);
    return n;
}

static void numbers_free(Numbers *n) { free(n->logits), free(n->gradients), free(n->decoded); }

static bool same_numbers(const Numbers *a, const Numbers *b) {
    size_t decoded = sizeof(float) * (size_t)(2 * a->nlogits / BATCH);
    return !memcmp(a->logits, b->logits, sizeof(float) * (size_t)a->nlogits)
        && !memcmp(a->gradients, b->gradients, sizeof(float) * (size_t)a->ngradients)
        && !memcmp(a->decoded, b->decoded, decoded) && a->loss == b->loss;
}

/* A prompt by OpenBLAS, then few rows by generated kernels: what the whole sequence gives. */
static void check_decoded(const Built *b, const Numbers *n) {
    int64_t vocab = b->c.model->vocab;
    for (int i = 0; i < 2; i++) {
        int64_t at = (i * TIME + prompts[i] - 1) * vocab, count = (TIME - prompts[i] + 1) * vocab;
        assert_true(difference(n->decoded + at, n->logits + at, count) < 1e-4);
    }
}

static void threads_change_no_bit(void **state) {
    if (!compiled_openblas()) skip();
    for (int i = 0; i < KINDS; i++) {
        Built b;
        open_spec(state, &b, kinds[i], (CodegenOptions){ .products = PRODUCTS_OPENBLAS });
        assert_string_equal(strata_string(b.c.model, b.c.model->blas), "openblas");
        Numbers one = numbers_of(&b, 1, 0);
        if (!strcmp(kinds[i].route, "nil")) check_decoded(&b, &one);
        for (int workers = 2; workers <= 5; workers++) {
            Numbers n = numbers_of(&b, workers, 0);
            if (!same_numbers(&n, &one))
                fail_msg("%s: other bits, %d threads", kinds[i].route, workers);
            numbers_free(&n);
        }
        numbers_free(&one);
        built_close(&b);
    }
}

/* The same program without OpenBLAS is the generated one, bit for bit; with it, to rounding. */
static void flags_decide(void **state) {
    if (!compiled_openblas()) skip();
    for (int i = 0; i < KINDS; i++) {
        Built blas, plain;
        open_spec(state, &plain, kinds[i], (CodegenOptions){ 0 });
        assert_string_equal(strata_string(plain.c.model, plain.c.model->blas), "generated");
        Numbers want = numbers_of(&plain, 2, 0), none = numbers_of(&plain, 2, STRATA_ALL_BLAS);
        built_close(&plain); /* m.lua is written anew */
        open_spec(state, &blas, kinds[i], (CodegenOptions){ .products = PRODUCTS_OPENBLAS });
        Numbers off = numbers_of(&blas, 2, STRATA_NO_BLAS), on = numbers_of(&blas, 2, 0),
                all = numbers_of(&blas, 2, STRATA_ALL_BLAS);
        assert_true(same_numbers(&none, &want));
        assert_true(same_numbers(&off, &want));
        assert_true(same_numbers(&all, &on));
        assert_true(difference(on.gradients, want.gradients, want.ngradients) < 1e-4);
        numbers_free(&want), numbers_free(&none), numbers_free(&off), numbers_free(&on),
            numbers_free(&all);
        built_close(&blas);
    }
}

static void check_graph(Graph *g, uint64_t seed, const char *cpu, const Extent *extent) {
    char why[700] = "";
    CodegenOptions o = { .cpu = cpu, .products = PRODUCTS_OPENBLAS };
    if (graph_answer(g, seed, &o, extent, why, sizeof why) == DIFFERS)
        fail_msg("%s, seed %d: %s", cpu, (int)seed, why);
}

/* On every processor that this machine can run code for: random graphs, and the models above in
** fewer tokens than a task takes and in more. */
static void interpreter_agrees(void **state) {
    static const Extent few[] = { { 2, FUZZ_CONTEXT - 1 }, { 0 } },
                        many[] = { { 1, 40 }, { 2, TIME }, { 0 } };
    if (!compiled_openblas()) skip();
    for (const char *const *cpu = compiled_cpus(); *cpu; cpu++) {
        for (uint64_t seed = 1; seed <= 5; seed++)
            check_graph(fuzz_model(seed, 25), seed, *cpu, few);
        for (int i = 0; i < KINDS; i++) {
            char text[1024];
            write_spec(text, sizeof text, kinds[i]);
            Model *m = scratch_model(state, "%s", text);
            Graph *g = m->graph;
            m->graph = NULL; /* the answer frees it, and the names in it */
            check_graph(g, 3, *cpu, many);
            spec_free(m);
        }
    }
}

/* == Auto ================================================================= */

static void fill_ratios(ProductRatios *r, double value) {
    for (int o = 0; o < ORIENTATIONS; o++)
        for (int i = 0; i < PRODUCT_SIZES; i++)
            for (int k = 0; k < PRODUCT_SIZES; k++)
                r->of[o][i][k] = value;
}

static int32_t blas_of(const strata_model *m, const char *kernel) {
    for (int i = 0; i < m->kernels; i++)
        if (!strcmp(strata_string(m, strata_kernels(m)[i].name), kernel))
            return strata_kernels(m)[i].blas;
    fail_msg("there is no kernel %s", kernel);
    return -1;
}

/* w is of 72 x 40 and 40 x 72, beyond the smallest size that was measured, and of 67 x 40. */
static void ratios_decide(void **state) {
    if (!compiled_openblas()) skip();
    ProductRatios r = { .measured = true };
    fill_ratios(&r, 1.5);
    r.of[PRODUCT_BACK][0][0] = 0.5;
    Built b;
    open_spec(state, &b, kinds[0], (CodegenOptions){ .products = PRODUCTS_AUTO, .ratios = &r });
    const strata_model *m = b.c.model;
    assert_string_equal(strata_string(m, m->blas), "auto");
    assert_int_equal(blas_of(m, "linear_72x40"), STRATA_BLAS_CAN);
    assert_int_equal(blas_of(m, "linear_back_72x40"), STRATA_BLAS_DOES);
    assert_int_equal(blas_of(m, "linear_weight_72x40"), STRATA_BLAS_CAN);
    Numbers one = numbers_of(&b, 1, 0), three = numbers_of(&b, 3, 0);
    assert_true(same_numbers(&one, &three));
    numbers_free(&one), numbers_free(&three);
    built_close(&b);
}

/* What is little faster is not worth a library; between sizes the ratio is between. */
static void nothing_gained_is_generated(void **state) {
    ProductRatios r = { .measured = true };
    fill_ratios(&r, 0.995);
    char text[1024];
    write_spec(text, sizeof text, kinds[0]);
    Model *m = scratch_model(state, "%s", text);
    ModelInfo info = spec_info(m);
    CodegenOptions o = {
        .cpu = "x86-64-v3", .prefix = "m", .products = PRODUCTS_AUTO, .ratios = &r
    };
    for (int better = 0; better < 2; better++) {
        Planned p;
        Error e;
        if (better) fill_ratios(&r, 0.98);
        assert_int_equal(planned_make(m->graph, &info, &o, &p, &e), 0);
        int does = 0;
        for (int i = 0; i < p.code.nkernel; i++)
            does += p.code.kernel[i].blas == STRATA_BLAS_DOES;
        assert_true(better ? does > 5 : does == 0);
        planned_free(&p);
    }
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_no_bit),       cmocka_unit_test(flags_decide),
        cmocka_unit_test(interpreter_agrees),          cmocka_unit_test(ratios_decide),
        cmocka_unit_test(nothing_gained_is_generated),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
