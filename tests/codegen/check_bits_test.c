/* SPDX-License-Identifier: MIT
** Builds with --check compute the same bits as builds without, which also says that sharing
** memory between values changes nothing.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "check_model.h"
#include "scratch.h"
#include "strata.h"

typedef struct Results {
    float *logits, *nll, *gradients, *next;
    strata_loss loss, step;
} Results;

static void good(const Instance *r, int32_t status) {
    if (status) fail_msg("status %d: %s", status, r->c->api.message(r->ctx.at));
}

/* Logits of the position after a prompt, then of one more, by way of the caches. */
static void decode(Instance *r, const Case *c, float *next) {
    const strata_api *a = &r->c->api;
    Guarded states;
    guarded_open(&states, a->state_bytes(CONTEXT));
    void *state = states.at;
    good(r, a->state_init(r->ctx.at, state, CONTEXT));
    good(r, a->prefill(r->ctx.at, r->weights.at, state, r->arena.at, c->tokens, c->time, next));
    if (c->time < CONTEXT)
        good(r, a->decode(r->ctx.at, r->weights.at, &state, 1, r->arena.at, c->tokens, next + V));
    guarded_close(&states);
}

static Results compute(const Compiled *compiled, const Case *c, int workers) {
    int64_t n = c->batch * c->time;
    const strata_api *a = &compiled->api;
    size_t gradients = (size_t)compiled->model->gradients * sizeof(float);
    Results out = { malloc((size_t)(n * V) * sizeof(float)),
                    malloc((size_t)n * sizeof(float)),
                    malloc(gradients),
                    calloc(2 * V, sizeof(float)),
                    { .struct_size = sizeof out.loss },
                    { .struct_size = sizeof out.step } };
    Instance r;
    instance_open(&r, compiled, n, workers);
    instance_weights(&r, c);
    good(&r,
         a->logits(r.ctx.at, r.weights.at, r.arena.at, c->tokens, c->batch, c->time, out.logits));
    good(&r,
         a->loss(r.ctx.at, r.weights.at, r.arena.at, c->tokens, c->targets, c->batch, c->time,
                 out.nll, &out.loss));
    good(&r,
         a->forward_backward(r.ctx.at, r.weights.at, r.train.at, r.arena.at, c->tokens, c->targets,
                             c->batch, c->time, 1, 0, NULL, NULL, &out.step));
    memcpy(out.gradients, r.train.at, gradients);
    decode(&r, c, out.next);
    instance_close(&r);
    return out;
}

static void free_results(Results *r) {
    free(r->logits), free(r->nll), free(r->gradients), free(r->next);
}

static void same(const char *what, const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) || !isfinite(a[i]))
            fail_msg("%s %lld: %a and %a", what, (long long)i, a[i], b[i]);
}

static void compare(const Built *plain, const Built *checked, Extent x, int workers) {
    Case *c = compiled_case(plain->m->graph, 3, x.batch, x.time, V);
    Results a = compute(&plain->c, c, 1), b = compute(&checked->c, c, workers);
    same("logit", a.logits, b.logits, x.batch * x.time * V);
    same("nll", a.nll, b.nll, x.batch * x.time);
    same("gradient", a.gradients, b.gradients, plain->c.model->gradients);
    same("next logit", a.next, b.next, 2 * V);
    assert_true(a.loss.loss == b.loss.loss && a.step.loss == b.step.loss);
    free_results(&a), free_results(&b);
    case_free(c);
}

static void same_bits(void **state) {
    static const struct {
        const char *residual;
        int layers, level;
    } mixers[] = {
        { "standard {}", 2, 2 },
        { "attnres { blocks = 2 }", 2, 0 },
        { "attnres { full = true, heads = 2, query = 'input' }", 2, 0 },
        { "attnres { full = true }", 8, 0 }, /* reads of more rows than are unrolled */
        { "attnres { block_size = 2, kernel = 'linear', rank = 3 }", 2, 0 },
        { "haares { blocks = 2 }", 2, 2 },
        { "highway {}", 2, 0 },
        { "denseformer {}", 2, 0 },
    };
    static const Extent extents[] = { { 3, 100 }, { 1, 64 }, { 1, 1 } };
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        Built plain, checked;
        check_open(state, &plain, mixers[i].residual, mixers[i].layers,
                   (CodegenOptions){ .level = mixers[i].level });
        check_open(state, &checked, mixers[i].residual, mixers[i].layers,
                   (CodegenOptions){ .level = mixers[i].level, .passes.check = true });
        for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)
            for (int workers = 1; workers <= 2; workers++)
                compare(&plain, &checked, extents[k], workers);
        built_close(&plain), built_close(&checked);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits) };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
