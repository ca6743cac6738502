/* SPDX-License-Identifier: MIT
** Sums of gradients work in place: what flows into the sources of a depth read takes the memory of
** what flowed into those of the read behind it, which are the same and one more.
*/
#include "test.h"

#include "agreement.h"
#include "compiled_spec.h"
#include "planned.h"
#include "gradient_runs.h"
#include "plan.h"
#include "scratch_spec.h"

enum { LAYERS = 11, SOURCES = 2 * LAYERS + 1, VOCAB = 21, BATCH = 2, TIME = 19 };

static const char spec[] =
    "local function read(m, state, site)\n"
    "  local list = state.list\n"
    "  m:sources(#list)\n"
    "  local sources = stack(list)\n"
    "  return sum(tanh(m:param(site, 'weight', { #list, m.dim }, 0.7) * sources) * sources, 1)\n"
    "end\n"
    "return model { name = 'sums', vocab = %d, context = 64, dim = %d, norm = rmsnorm {},\n"
    "  residual = mixer {\n"
    "    open = function(_, e) return { list = { e } } end,\n"
    "    read = read,\n"
    "    write = function(_, state, _, out) table.insert(state.list, out) return state end,\n"
    "    close = read,\n"
    "  } {},\n"
    "  layers = times(%d, layer { attention { heads = 4 }, mlp { hidden = 64 } }) }\n";

static const Buffer *place(const Buffer *b) {
    while (b->into)
        b = b->into;
    return b;
}

/* Stacks of gradients shorter than the memory they are in. */
static int shorter_in_place(const Plan *p, int dim) {
    int n = 0;
    for (int i = 0; i < p->g->n; i++) {
        const Buffer *b = p->buffer[i];
        if (!b || !b->into || b->node->shape.rank != 2 || b->node->shape.dim[1] != dim) continue;
        assert_int_equal(b->space, place(b)->space);
        assert_int_equal(b->offset, place(b)->offset);
        assert_int_equal(b->stride, place(b)->stride);
        assert_true(place(b)->first < b->first && place(b)->last >= b->last);
        n += b->count < place(b)->count;
    }
    return n;
}

static void stacks_of_gradients_are_in_one_place(void **state) {
    enum { DIM = 48 };
    Model *m = scratch_model(state, spec, VOCAB, DIM, LAYERS);
    ModelInfo info = spec_info(m);
    Planned p;
    Error why;
    assert_int_equal(
        planned_make(m->graph, &info,
                     &(CodegenOptions){ .cpu = "x86-64-v3", .passes.two_phase = TWO_PHASE_OFF }, &p,
                     &why),
        0);
    int shorter = shorter_in_place(p.plans.plan[PROGRAM_TRAIN], DIM);
    print_message("%d of %d\n", shorter, SOURCES - RUN_PIECES - 1);
    assert_int_equal(shorter, SOURCES - RUN_PIECES - 1);
    planned_free(&p);
    spec_free(m);
}

/* Lanes that fill vectors and that do not; tested accesses. */
static void compiled_code_agrees(void **state) {
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };
    static const Extent extent[] = { { 1, 1 }, { BATCH, TIME }, { 0 } };
    const char *const *cpu = compiled_cpus();
    for (int i = 0; cpu[i]; i++)
        for (int dim = 40; dim <= 48; dim += 8) {
            Model *m = scratch_model(state, spec, VOCAB, dim, LAYERS);
            CodegenOptions o = { .cpu = cpu[i], .level = 1, .passes.check = dim == 40 };
            int status = graph_status(graph_extract(m->graph, outputs), &o, extent);
            if (status) fail_msg("%s, dim %d: status %d", cpu[i], dim, status);
            spec_free(m);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_of_gradients_are_in_one_place),
        cmocka_unit_test(compiled_code_agrees),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
