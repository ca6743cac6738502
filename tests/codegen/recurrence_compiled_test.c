/* SPDX-License-Identifier: MIT
** Compiled recurrences against the interpreter, values and gradients: every option, heads that
** share q and k, sizes beyond a vector, chunks and more; of some tokens; in --check builds; the
** same bits for any number of workers.
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "recurrence_draw.h"
#include "small_model.h"

typedef struct HeadForm {
    int64_t H, G, dk, dv;
    bool decays, by_head, delta, some; /* some: of a list */
    enum { STORED, RATES, FACTORS } decay;
} HeadForm;

static const HeadForm forms[] = {
    { 1, 1, 8, 8, true, false, true, false, STORED },
    { 2, 1, 18, 5, true, false, true, false, STORED },
    { 4, 2, 16, 32, true, true, true, false, STORED },
    { 2, 2, 33, 17, true, true, false, false, STORED },
    { 3, 3, 4, 20, false, false, false, false, STORED },
    { 2, 2, 24, 24, false, false, true, false, STORED },
    { 2, 1, 12, 8, true, false, true, true, STORED },
    { 1, 1, 64, 48, true, false, false, false, STORED },
    { 2, 2, 7, 9, false, false, true, true, STORED },
    /* by chunks, lanes and channels */
    { 2, 1, 18, 5, true, true, true, false, RATES },
    { 3, 3, 40, 8, true, true, false, true, RATES },
    { 6, 3, 3, 2, true, true, true, true, RATES },
    { 5, 1, 16, 1, true, true, false, false, RATES },
    { 36, 2, 16, 1, true, true, false, false, RATES },
    { 8, 1, 32, 1, true, true, false, true, RATES },
    { 2, 1, 12, 8, true, true, true, true, FACTORS },
    { 9, 3, 5, 2, true, true, false, false, FACTORS },
    { 40, 1, 16, 1, true, true, false, false, FACTORS },
};
enum { FORMS = sizeof forms / sizeof *forms };

static const Extent extents[] = { { 1, 1 }, { 3, 13 }, { 1, 64 }, { 2, 65 }, { 1, 150 }, { 0 } };

static Node *values(Probe *p, int64_t heads, int64_t d) {
    return probe_stored(p, probe_shape(2, (int64_t[]){ heads, d }));
}

static Node *some_rows(Probe *p) {
    const char *error;
    Node *w = probe_param(p, probe_shape(2, (int64_t[]){ PROBE_VOCAB, 1 }));
    Node *mask = op_greater(op_reshape(op_embed(w, op_source(p->g, OP_tokens)), &(Shape){ 0 }),
                            op_fill(p->g, 0));
    return node_new(p->g, OP_rows, 1, &mask, (Attr){ .count = 1 }, &error);
}

/* Of numbers of heads and rates, which are then none of the op's. */
static Node *product(Node *by_head, Node **rate) {
    Node *x = op_mul(
        op_reshape(by_head, &(Shape){ .rank = 2, .dim = { by_head->shape.dim[0], 1 } }), *rate);
    *rate = NULL;
    return x;
}

static Graph *model_of(const HeadForm *f, uint64_t seed) {
    Probe p = probe_new(seed, 12, 1);
    Shape by_head = probe_shape(1, &f->H);
    Node *in[] = { values(&p, f->G, f->dk), values(&p, f->G, f->dk), values(&p, f->H, f->dv), NULL,
                   NULL };
    if (f->decays) in[3] = f->by_head ? probe_stored(&p, by_head) : values(&p, f->H, f->dk);
    if (f->delta) in[4] = probe_rows(&p, by_head);
    Node *rate = f->decay ? probe_param(&p, probe_shape(2, (int64_t[]){ f->H, f->dk })) : NULL;
    if (f->decay == FACTORS) in[3] = product(in[3], &rate);
    Node *rows = f->some ? some_rows(&p) : NULL;
    for (int i = 0; rows && i < 5; i++)
        if (in[i]) in[i] = op_gather(in[i], rows);
    Node *o = drawn_recurrence(in[0], in[1], in[2], in[3], rate, in[4]);
    probe_read(&p, rows ? op_scatter(o, rows) : o);
    return probe_end(&p, NULL);
}

typedef struct Unit {
    const HeadForm *form;
    const char *cpu;
    bool check;
} Unit;

static int agrees(void *arg) {
    const Unit *u = arg;
    char why[700] = "";
    CodegenOptions o = { .cpu = u->cpu, .passes.check = u->check };
    if (graph_answer(model_of(u->form, 3), 7, &o, extents, why, sizeof why) == AGREES) return 0;
    fprintf(stderr, "form %d, %s: %s\n", (int)(u->form - forms), u->cpu, why);
    return 1;
}

static void every_form_agrees(void **state) {
    (void)state;
    for (int i = 0; i < FORMS; i += compiled_every())
        for (const char *const *cpu = compiled_cpus(); *cpu; cpu++) {
            Unit u = { &forms[i], *cpu, cpu[1] == NULL };
            assert_int_equal(apart(agrees, &u), 0);
        }
}

static float *gradients_with(const Compiled *c, Graph *g, int workers) {
    enum { BATCH = 3, TIME = 100 };
    Instance r;
    strata_loss loss;
    instance_open(&r, c, BATCH * TIME, workers);
    Case *x = compiled_case(g, 5, BATCH, TIME, c->model->vocab);
    instance_weights(&r, x);
    float *d = gradients_of(&r, x->tokens, x->targets, BATCH, TIME, &loss);
    case_free(x);
    instance_close(&r);
    return d;
}

static void workers_do_not_change_bits(void **state) {
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        Compiled c;
        Graph *g = model_of(&forms[i], 9);
        ModelInfo info = compiled_info(g, 100);
        compiled_open(&c, g, &info, &(CodegenOptions){ .cpu = "native" });
        float *one = gradients_with(&c, g, 1);
        for (int workers = 2; workers <= 3; workers++) {
            float *more = gradients_with(&c, g, workers);
            assert_memory_equal(one, more, (size_t)c.model->gradients * sizeof *one);
            free(more);
        }
        free(one);
        compiled_close(&c);
        graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_agrees),
        cmocka_unit_test(workers_do_not_change_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
