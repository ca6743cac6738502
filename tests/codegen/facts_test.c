/*
** What must be so of every compiled model, whatever its numbers: the same bits
** for any number of workers and in any batch, decoding like the full pass,
** identities between mixers.
*/
#include "compiled.h"
#include "spec.h"
#include "strata.h"

#include <math.h>
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VOCAB = 31, CONTEXT = 24, T = 13, B = 3 };

/* A model compiled from a residual and attention options, ready to run. */
typedef struct Built {
    Model *m;
    Compiled c;
    Instance r;
} Built;

typedef enum How { TRAINS, CHECKED, FORWARD_ONLY } How;

static Model *load(const char *residual, const char *attention, const char *eps) {
    char path[] = "/tmp/strata-facts-XXXXXX", text[2048];
    int fd = mkstemp(path);
    snprintf(text, sizeof text,
             "return model { name = \"facts\", vocab = %d, context = %d, dim = 40, norm = rmsnorm "
             "{ eps = %s }, residual = %s,\n"
             "  embedding = { tied = true%s },\n"
             "  layers = times(3, layer { attention { heads = 4, %s }, mlp { hidden = 56 } }) }\n",
             VOCAB, CONTEXT, eps, residual,
             strstr(attention, "rope") ? "" : ", positions = \"learned\"", attention);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    Error error;
    Model *m = spec_load(path, NULL, &error);
    if (!m) print_message("%s\n", error.text);
    unlink(path);
    assert_non_null(m);
    return m;
}

static uint32_t mix(uint32_t x) {
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* The same numbers for a tensor of the same name, whatever the model. */
static void fill_weights(Instance *r) {
    const strata_tensor *t = strata_tensors(r->c->model);
    guarded_writable(&r->weights, true);
    memset(r->weights.at, 0, r->weights.size);
    for (int i = 0; i < r->c->model->tensors; i++) {
        uint32_t seed = 17;
        for (const char *s = strata_string(r->c->model, t[i].name); *s; s++)
            seed = seed * 31 + (unsigned char)*s;
        for (int64_t k = 0; k < t[i].count; k++) {
            double u = mix(seed + (uint32_t)k * 2654435761u) / 4294967296.0 - 0.5;
            ((float *)r->weights.at)[t[i].weight + k] = (float)(t[i].init == 0 ? t[i].value
                                                                               : 0.25 * u);
        }
    }
    guarded_writable(&r->weights, false);
}

static void build_for(Built *b, int64_t tokens, const char *residual, const char *attention,
                      const char *eps, int workers, How how) {
    b->m = load(residual, attention, eps);
    ModelInfo info = compiled_info(b->m->graph, CONTEXT);
    CodegenOptions o = { .prefix = "facts",
                         .cpu = "native",
                         .level = 2,
                         .emit = EMIT_OBJ,
                         .passes.check = how == CHECKED,
                         .passes.inference = how == FORWARD_ONLY };
    compiled_open(&b->c, b->m->graph, &info, &o);
    instance_open(&b->r, &b->c, tokens, workers);
    fill_weights(&b->r);
}

static void build(Built *b, const char *residual, const char *attention, const char *eps,
                  int workers, How how) {
    build_for(b, B * CONTEXT, residual, attention, eps, workers, how);
}

static void end(Built *b) {
    instance_close(&b->r);
    compiled_close(&b->c);
    spec_free(b->m);
}

/* Every query and static logit gets numbers too: all weights matter then. */
static void stir(Built *b) {
    const strata_tensor *t = strata_tensors(b->c.model);
    guarded_writable(&b->r.weights, true);
    for (int i = 0; i < b->c.model->tensors; i++)
        for (int64_t k = 0; t[i].init == 0 && k < t[i].count; k++)
            ((float *)b->r.weights.at)[t[i].weight + k] += 0.3f
                * (float)(mix((uint32_t)(i * 7919 + k)) / 4294967296.0 - 0.5);
    guarded_writable(&b->r.weights, false);
}

static void draw_tokens(int32_t *ids, int n, uint32_t seed) {
    for (int i = 0; i < n; i++)
        ids[i] = (int32_t)(mix(seed + (uint32_t)i) % VOCAB);
}

static void run_logits(Built *b, const int32_t *ids, int64_t batch, int64_t time, float *out) {
    assert_int_equal(
        b->c.api.logits(b->r.ctx.at, b->r.weights.at, b->r.arena.at, ids, batch, time, out),
        STRATA_OK);
}

static strata_loss run_gradients(Built *b, const int32_t *ids, const int32_t *targets,
                                 uint32_t flags) {
    strata_loss loss = { .struct_size = sizeof loss };
    assert_int_equal(b->c.api.forward_backward(b->r.ctx.at, b->r.weights.at, b->r.train.at,
                                               b->r.arena.at, ids, targets, B, T, 1, flags, NULL,
                                               NULL, &loss),
                     STRATA_OK);
    return loss;
}

static double worst(const float *a, const float *b, int64_t n) {
    double most = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        if (!(d <= most)) most = d;
        if (fabs(b[i]) > scale) scale = fabs(b[i]);
    }
    return most / (scale > 0 ? scale : 1);
}

static const char *const residuals[] = {
    "standard {}",
    "rezero {}",
    "layerscale {}",
    "highway { gate = \"vector\" }",
    "denseformer {}",
    "attnres { blocks = 2 }",
    "attnres { full = true, query = \"input\" }",
    "haares { block_size = 4 }",
    "hyper { streams = 3 }",
    "mhc { streams = 4, iterations = 3 }",
    "gated_residual { streams = 2, rank = 5 }",
    "drr { heads = 4, window = 2, block_layers = 1, causal = true, chunk = 5 }",
    "drr { heads = 5, block_layers = 2, causal = true, chunk = 1, query = \"learned\" }",
};
enum { RESIDUALS = sizeof residuals / sizeof *residuals };
static const char rope[] = "kv_heads = 2, rope = { theta = 10000 }";

/* == Facts ================================================================ */

/* A state for each sequence, fed by prefill and decode; histories differ. */
static void check_decoding(Built *b) {
    static float full[B * T * VOCAB], step[B * VOCAB];
    int32_t ids[B * T], next[B];
    size_t bytes = b->c.api.state_bytes(CONTEXT);
    void *state[B];
    int at[B] = { 1, 4, 7 };
    draw_tokens(ids, B * T, 5);
    run_logits(b, ids, B, T, full);
    for (int i = 0; i < B; i++) {
        state[i] = aligned_alloc(STRATA_ALIGN, (bytes + 63) / 64 * 64);
        assert_int_equal(b->c.api.state_init(b->r.ctx.at, state[i], CONTEXT), STRATA_OK);
        assert_int_equal(b->c.api.prefill(b->r.ctx.at, b->r.weights.at, state[i], b->r.arena.at,
                                          ids + i * T, at[i], step),
                         STRATA_OK);
        assert_true(worst(step, full + (i * T + at[i] - 1) * VOCAB, VOCAB) < 3e-5);
    }
    for (; at[B - 1] < T;) {
        for (int i = 0; i < B; i++)
            next[i] = ids[i * T + at[i]];
        assert_int_equal(
            b->c.api.decode(b->r.ctx.at, b->r.weights.at, state, B, b->r.arena.at, next, step),
            STRATA_OK);
        for (int i = 0; i < B; i++, at[i - 1]++)
            assert_true(worst(step + i * VOCAB, full + (i * T + at[i]) * VOCAB, VOCAB) < 3e-5);
    }
    for (int i = 0; i < B; i++)
        free(state[i]);
}

static void decoding_agrees_with_the_full_pass(void **s) {
    (void)s;
    for (int i = 0; i < RESIDUALS; i++) {
        Built b;
        build(&b, residuals[i], i % 2 ? rope : "bias = true", "1e-6", 2, FORWARD_ONLY);
        stir(&b);
        check_decoding(&b);
        end(&b);
    }
}

static void a_sequence_alone_equals_itself_in_a_batch(void **s) {
    (void)s;
    static float all[B * T * VOCAB], one[T * VOCAB];
    int32_t ids[B * T];
    draw_tokens(ids, B * T, 9);
    for (int i = 0; i < RESIDUALS; i++) {
        Built b;
        build(&b, residuals[i], rope, "1e-6", 1, FORWARD_ONLY);
        stir(&b);
        run_logits(&b, ids, B, T, all);
        for (int k = 0; k < B; k++) {
            run_logits(&b, ids + k * T, 1, T, one);
            assert_memory_equal(one, all + k * T * VOCAB, sizeof one);
        }
        end(&b);
    }
}

/* Gradients of one residual with some workers, or as a checked build. */
static float *gradients(const char *residual, int workers, How how, int64_t *count) {
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    Built b;
    build(&b, residual, rope, "1e-6", workers, how);
    stir(&b);
    run_gradients(&b, ids, targets, 0);
    *count = b.c.model->gradients;
    float *copy = malloc((size_t)*count * sizeof *copy);
    memcpy(copy, b.r.train.at, (size_t)*count * sizeof *copy);
    end(&b);
    return copy;
}

static void workers_and_checks_do_not_change_a_bit(void **s) {
    (void)s;
    for (int i = 4; i < RESIDUALS; i += i < 10 ? 3 : 1) {
        int64_t n, same;
        float *one = gradients(residuals[i], 1, TRAINS, &n);
        for (int how = 0; how < 3; how++) {
            float *other = gradients(residuals[i], how == 2 ? 1 : 2 + how,
                                     how == 2 ? CHECKED : TRAINS, &same);
            assert_true(n == same && !memcmp(one, other, (size_t)n * sizeof *one));
            free(other);
        }
        free(one);
    }
}

enum { MANY = 25 }; /* sequences that take two tasks: weights are then packed before */

/* Tokens in several chunks: logits have the bits of sequences alone, gradients are their sum. */
static void chunks_of_tokens(void **s) {
    (void)s;
    static float all[MANY * T * VOCAB], one[T * VOCAB];
    int32_t ids[MANY * T], targets[MANY * T];
    strata_loss loss = { .struct_size = sizeof loss };
    Built b;
    draw_tokens(ids, MANY * T, 31), draw_tokens(targets, MANY * T, 32);
    build_for(&b, MANY * T, "haares { block_size = 4 }", rope, "1e-6", 2, TRAINS);
    stir(&b);
    run_logits(&b, ids, MANY, T, all);
    const strata_api *a = &b.c.api;
    size_t bytes = (size_t)b.c.model->gradients * sizeof(float);
    float *whole = malloc(bytes);
    assert_int_equal(a->forward_backward(b.r.ctx.at, b.r.weights.at, b.r.train.at, b.r.arena.at,
                                         ids, targets, MANY, T, 1, 0, NULL, NULL, &loss),
                     0);
    memcpy(whole, b.r.train.at, bytes);
    for (int i = 0; i < MANY; i++) {
        run_logits(&b, ids + i * T, 1, T, one);
        assert_memory_equal(one, all + i * T * VOCAB, sizeof one);
        assert_int_equal(a->forward_backward(b.r.ctx.at, b.r.weights.at, b.r.train.at, b.r.arena.at,
                                             ids + i * T, targets + i * T, 1, T, 1.0f / MANY,
                                             i ? STRATA_ACCUMULATE : 0, NULL, NULL, &loss),
                         0);
    }
    assert_true(worst(b.r.train.at, whole, b.c.model->gradients) < 3e-5);
    free(whole);
    end(&b);
}

static void compare_models(const char *x, const char *y, const char *eps, double tolerance) {
    static float a[B * T * VOCAB], b[B * T * VOCAB];
    int32_t ids[B * T];
    Built p, q;
    draw_tokens(ids, B * T, 21);
    build(&p, x, rope, eps, 1, FORWARD_ONLY), build(&q, y, rope, eps, 1, FORWARD_ONLY);
    run_logits(&p, ids, B, T, a), run_logits(&q, ids, B, T, b);
    double far = worst(a, b, B * T * VOCAB);
    if (!(far < tolerance)) print_message("%s and %s: %g\n", x, y, far);
    assert_true(far < tolerance);
    end(&p), end(&q);
}

static void identities_between_mixers(void **s) {
    (void)s;
    compare_models("attnres { blocks = 2 }", "standard {}", "1e-12", 1e-4); /* queries are 0 */
    compare_models("attnres { block_size = 1 }", "attnres { full = true }", "1e-6", 1e-7);
    compare_models("haares { blocks = 2, bias = -1e4 }", "attnres { blocks = 2 }", "1e-6", 1e-5);
}

static void one_source_gives_its_query_no_gradient(void **s) {
    (void)s;
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    for (int i = 5; i <= 7; i += 2) { /* attnres and haares */
        Built b;
        build(&b, residuals[i], rope, "1e-6", 1, TRAINS);
        stir(&b);
        run_gradients(&b, ids, targets, 0);
        const float *g = instance_gradient(&b.r, "layers.0.attention.residual.query");
        const float *later = instance_gradient(&b.r, "layers.2.mlp.residual.query");
        double sum = 0;
        for (int k = 0; k < 40; k++) {
            assert_true(g[k] == 0);
            sum += fabs(later[k]);
        }
        assert_true(sum > 0);
        end(&b);
    }
}

/* == The optimizer's side ================================================= */

typedef struct Ranges {
    int64_t next, total;
} Ranges;

static int32_t take_range(void *user, int64_t first, int64_t count) {
    Ranges *r = user;
    if (first != r->next || count < 1) return 1;
    r->next = first + count;
    return 0;
}

static void gradients_add_up_and_become_final_in_order(void **s) {
    (void)s;
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    Built b;
    build(&b, "haares { blocks = 2 }", rope, "1e-6", 2, TRAINS);
    stir(&b);
    int64_t n = b.c.model->gradients;
    float *once = malloc((size_t)n * sizeof *once), *g = b.r.train.at;
    run_gradients(&b, ids, targets, 0);
    memcpy(once, g, (size_t)n * sizeof *once);
    run_gradients(&b, ids, targets, STRATA_ACCUMULATE);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(g[i] - 2.0 * once[i]) <= 1e-5 * (1e-3 + fabs(once[i])));
    Ranges r = { 0, n };
    assert_int_equal(b.c.api.forward_backward(b.r.ctx.at, b.r.weights.at, g, b.r.arena.at, ids,
                                              targets, B, T, 1, 0, take_range, &r, NULL),
                     STRATA_OK);
    assert_int_equal(r.next, n);
    assert_memory_equal(g, once, (size_t)n * sizeof *once);
    free(once);
    end(&b);
}

static void an_update_by_ranges_is_the_update(void **s) {
    (void)s;
    int32_t ids[B * T], targets[B * T];
    draw_tokens(ids, B * T, 3), draw_tokens(targets, B * T, 4);
    float *result[2];
    int64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        Built b;
        build(&b, "attnres { blocks = 2 }", rope, "1e-6", 1 + pass, TRAINS);
        n = b.c.model->gradients;
        strata_adamw how = { .struct_size = sizeof how,
                             .lr = 1e-2,
                             .beta1 = 0.9,
                             .beta2 = 0.95,
                             .eps = 1e-8,
                             .weight_decay = 0.1,
                             .grad_scale = 0.5,
                             .step = 1 };
        memset(b.r.train.at, 0, (size_t)(3 * n) * sizeof(float));
        run_gradients(&b, ids, targets, 0);
        guarded_writable(&b.r.weights, true);
        int64_t cut = pass ? n / 3 + 1 : n;
        assert_int_equal(
            b.c.api.update(b.r.ctx.at, b.r.weights.at, b.r.train.at, cut, n - cut, &how),
            STRATA_OK);
        assert_int_equal(b.c.api.update(b.r.ctx.at, b.r.weights.at, b.r.train.at, 0, cut, &how),
                         STRATA_OK);
        result[pass] = malloc((size_t)n * sizeof(float));
        memcpy(result[pass], b.r.weights.at, (size_t)n * sizeof(float));
        end(&b);
    }
    assert_memory_equal(result[0], result[1], (size_t)n * sizeof(float));
    free(result[0]), free(result[1]);
}

/* == What is told ========================================================= */

/* What bench measures prefill against: the work of a pass, in a build that trains too, of which
** the head's product is for the last token only. */
static void kernels_tell_the_work_of_a_pass(void **state) {
    (void)state;
    for (int i = 0; i < RESIDUALS; i++) {
        Built b;
        const char *residual = residuals[i];
        build(&b, residual, rope, "1e-6", 1, i % 2 ? TRAINS : FORWARD_ONLY);
        const strata_model *m = b.c.model;
        double flops = 0;
        int64_t calls = 0, trained = 0;
        for (int k = 0; k < m->kernels; k++) {
            const strata_kernel *x = &strata_kernels(m)[k];
            assert_int_equal((x->used & STRATA_DECODE) != 0, x->forward.calls != 0);
            assert_int_equal((x->used & (STRATA_FORWARD | STRATA_BACKWARD)) != 0,
                             x->training.calls != 0);
            assert_true(x->forward.last_flops <= x->forward.flops_per_token
                        && x->training.last_flops == 0);
            if (!strncmp(strata_string(m, x->name), "linear_31x", 10))
                assert_true(x->forward.last_flops == x->forward.flops_per_token);
            flops += x->forward.flops_per_token + x->forward.flops_per_pair * (CONTEXT + 1) / 2.0;
            calls += x->forward.calls, trained += x->training.calls;
        }
        assert_true(m->flops_forward > 0 && (i % 2 ? trained > 2 * calls : !trained));
        if (fabs(flops - m->flops_forward) > 1e-9 * flops)
            fail_msg("%s: expected %g FLOPs per token, found %g", residual, m->flops_forward,
                     flops);
        end(&b);
    }
}

/* == Refusals ============================================================= */

static void what_is_wrong_is_a_status(void **s) {
    (void)s;
    int32_t ids[CONTEXT + 1] = { 0 };
    static float out[(CONTEXT + 1) * VOCAB];
    Built b;
    build(&b, "standard {}", rope, "1e-6", 1, TRAINS);
    strata_api *a = &b.c.api;
    void *ctx = b.r.ctx.at, *w = b.r.weights.at, *arena = b.r.arena.at;
    assert_int_equal(a->logits(ctx, w, arena, ids, 1, CONTEXT + 1, out), STRATA_ERROR_ARGUMENT);
    assert_non_null(strstr(a->message(ctx), "25"));
    assert_int_equal(a->logits(ctx, w, arena, ids, 0, 1, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->logits(ctx, NULL, arena, ids, 1, 1, out), STRATA_ERROR_ARGUMENT);
    assert_int_equal(a->logits(ctx, w, (char *)arena + 4, ids, 1, 1, out), STRATA_ERROR_ARGUMENT);
    ids[1] = VOCAB;
    assert_int_equal(a->logits(ctx, w, arena, ids, 1, 2, out), STRATA_ERROR_ARGUMENT);
    assert_non_null(strstr(a->message(ctx), "[0,1] is 31"));
    ids[1] = -1;
    assert_int_equal(a->logits(ctx, w, arena, ids, 1, 2, out), STRATA_ERROR_ARGUMENT);
    ids[1] = 0;
    size_t bytes = (a->state_bytes(2) + 63) / 64 * 64;
    void *state = aligned_alloc(STRATA_ALIGN, bytes);
    memset(state, 0, bytes);
    assert_int_equal(a->prefill(ctx, w, state, arena, ids, 1, out), STRATA_ERROR_STATE);
    assert_int_equal(a->state_init(ctx, state, 2), STRATA_OK);
    assert_int_equal(a->prefill(ctx, w, state, arena, ids, 3, out), STRATA_ERROR_FULL);
    assert_int_equal(a->prefill(ctx, w, state, arena, ids, 2, out), STRATA_OK);
    assert_int_equal(a->decode(ctx, w, &state, 1, arena, ids, out), STRATA_ERROR_FULL);
    assert_int_equal(a->state_bytes(CONTEXT + 1), 0);
    assert_int_equal(a->init(ctx, 64, NULL), STRATA_ERROR_ARGUMENT);
    free(state);
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_agrees_with_the_full_pass),
        cmocka_unit_test(a_sequence_alone_equals_itself_in_a_batch),
        cmocka_unit_test(chunks_of_tokens),
        cmocka_unit_test(workers_and_checks_do_not_change_a_bit),
        cmocka_unit_test(identities_between_mixers),
        cmocka_unit_test(one_source_gives_its_query_no_gradient),
        cmocka_unit_test(gradients_add_up_and_become_final_in_order),
        cmocka_unit_test(an_update_by_ranges_is_the_update),
        cmocka_unit_test(kernels_tell_the_work_of_a_pass),
        cmocka_unit_test(what_is_wrong_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
