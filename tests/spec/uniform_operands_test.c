/* SPDX-License-Identifier: MIT
** Specs that give parameters where a row of each token is usual: tables by distance, queries, keys
** and values, what recurrences take, biases of experts.  Compiled code has the interpreter's
** numbers and gradients; ALiBi with learned slopes keeps no table for each token.
*/
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "agreement.h"
#include "compiled_spec.h"
#include "planned.h"
#include "scratch_spec.h"

static const Extent extent[] = { { 1, 1 }, { 2, 19 }, { 0 } };

/* A model with a sublayer of this body, between linear maps of x. */
static Model *model_of(void **state, const char *body, int context) {
    char path[SCRATCH_PATH], text[2048];
    snprintf(
        text, sizeof text,
        "return sublayer { forward = function(m, site, x)\n"
        "  local H, d, D = 4, m.dim // 4, m.dim\n"
        "  local function heads(name) return reshape(m:linear(site, name, x, D), { H, d }) end\n"
        "  local function own(name, ...) return m:param(site, name, { ... }, normal(0.5)) end\n"
        "  local function slopes(n)\n"
        "    local list = {}\n"
        "    for i = 0, n - 1 do list[i + 1] = -i end\n"
        "    return reshape(exp(m:param(site, 'slope', { H }, -2)), { H, 1 })\n"
        "      * reshape(stack(list), { 1, n })\n"
        "  end\n"
        "  %s\nend }\n",
        body);
    scratch_write(scratch_path(state, "own.lua", path), text, strlen(text));
    return scratch_model(state,
                         "return model { name = 'm', vocab = 20, context = %d, dim = 16,\n"
                         "  norm = rmsnorm {}, layers = times(2, layer { require 'own' {}, mlp { "
                         "hidden = 24 } }) }\n",
                         context);
}

static const char *const bodies[] = {
    "return m:linear(site, 'o', reshape(attention(heads 'q', heads 'k', heads 'v',\n"
    "  { by_distance = slopes(m.context) }), { D }), D)",
    "return m:linear(site, 'o', reshape(attention(heads 'q', heads 'k', heads 'v',\n"
    "  { by_distance = own('near', H, 3), window = 7 }), { D }), D)",
    "return reshape(attention(own('q', H, d), heads 'k', heads 'v', {}), { D })",
    "return reshape(attention(heads 'q', own('k', H, d), heads 'v', {}), { D })",
    "return reshape(attention(heads 'q', heads 'k', own('v', H, d), {}), { D })",
    "return reshape(recurrence(own('q', H, d), heads 'k', heads 'v',\n"
    "  { decay = -exp(own('g', H)) }), { D })",
    "return reshape(recurrence(heads 'q', own('k', H, d), heads 'v',\n"
    "  { decay = -exp(own('g', H, d)), delta = sigmoid(own('beta', H)) }), { D })",
    "return reshape(recurrence(heads 'q', heads 'k', own('v', H, d), { decay = -0.1 }), { D })",
    "local z = m:linear(site, 'router', x, 5, true)\n"
    "local at = chosen(largest(z, 2), 2)\n"
    "local y = expert_linear(x, own('experts.*.up', 5, 8, D), at)\n"
    "  + expert_linear(own('one', 1), own('experts.*.bias', 5, 8, 1), at)\n"
    "y = expert_linear(tanh(y), own('experts.*.down', 5, D, 8), at)\n"
    "return sum(reshape(softmax(pick(z, at) + pick(own('more', 5), at), 1), { 2, 1 }) * y, 1)",
};
enum { BODIES = sizeof bodies / sizeof *bodies };

static void compiled_code_agrees(void **state) {
    static const char *const outputs[] = { "logits", "nll", "cross_entropy", "loss", NULL };
    const char *const *cpu = compiled_cpus();
    int cpus = 0;
    while (cpu[cpus])
        cpus++;
    for (int i = 0; i < BODIES; i += compiled_every()) {
        Model *m = model_of(state, bodies[i], 32);
        CodegenOptions o = { .cpu = cpu[i % cpus], .level = i % 2, .passes.check = i % 3 == 2 };
        int status = graph_status(graph_extract(m->graph, outputs), &o, extent);
        if (status) fail_msg("body %d, %s: status %d", i, o.cpu, status);
        spec_free(m);
    }
}

/* Floats of all tokens that a training step keeps for each. */
static int64_t floats_per_token(const Model *m) {
    ModelInfo info = spec_info(m);
    Planned p;
    Error why;
    int64_t floats = 0;
    assert_int_equal(
        planned_make(m->graph, &info, &(CodegenOptions){ .cpu = "x86-64-v3" }, &p, &why), 0);
    const Plan *plan = p.plans.plan[PROGRAM_TRAIN];
    for (int i = 0; i < plan->g->n; i++) {
        const Buffer *b = plan->buffer[i];
        if (b && !b->into && b->space == SPACE_TOKEN) floats += b->count;
    }
    planned_free(&p);
    return floats;
}

/* Four times the distances are no more numbers of a token; a table of each would be 4 heads by 192
** distances more, in each of two layers. */
static void one_table_takes_no_memory_of_tokens(void **state) {
    Model *near = model_of(state, bodies[0], 64), *far = model_of(state, bodies[0], 256);
    int64_t less = floats_per_token(near), more = floats_per_token(far);
    print_message("%d floats a token for 64 distances, %d for 256\n", (int)less, (int)more);
    assert_int_equal(less, more);
    spec_free(near), spec_free(far);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_code_agrees),
        cmocka_unit_test(one_table_takes_no_memory_of_tokens),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
