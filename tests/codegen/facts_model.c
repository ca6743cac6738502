/* SPDX-License-Identifier: MIT
** See facts_model.h. */
#include "facts_model.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const residuals[RESIDUALS] = {
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
const char rope[] = "kv_heads = 2, rope = { theta = 10000 }";

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

void facts_open_for(FactsModel *b, int64_t tokens, const char *residual, const char *attention,
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

void facts_open(FactsModel *b, const char *residual, const char *attention, const char *eps,
                int workers, How how) {
    facts_open_for(b, B * CONTEXT, residual, attention, eps, workers, how);
}

void facts_close(FactsModel *b) {
    instance_close(&b->r);
    compiled_close(&b->c);
    spec_free(b->m);
}

void stir(FactsModel *b) {
    const strata_tensor *t = strata_tensors(b->c.model);
    guarded_writable(&b->r.weights, true);
    for (int i = 0; i < b->c.model->tensors; i++)
        for (int64_t k = 0; t[i].init == 0 && k < t[i].count; k++)
            ((float *)b->r.weights.at)[t[i].weight + k] += 0.3f
                * (float)(mix((uint32_t)(i * 7919 + k)) / 4294967296.0 - 0.5);
    guarded_writable(&b->r.weights, false);
}

void draw_tokens(int32_t *ids, int n, uint32_t seed) {
    for (int i = 0; i < n; i++)
        ids[i] = (int32_t)(mix(seed + (uint32_t)i) % VOCAB);
}

void run_logits(FactsModel *b, const int32_t *ids, int64_t batch, int64_t time, float *out) {
    assert_int_equal(
        b->c.api.logits(b->r.ctx.at, b->r.weights.at, b->r.arena.at, ids, batch, time, out),
        STRATA_OK);
}

strata_loss run_gradients(FactsModel *b, const int32_t *ids, const int32_t *targets,
                          uint32_t flags) {
    strata_loss loss = { .struct_size = sizeof loss };
    assert_int_equal(b->c.api.forward_backward(b->r.ctx.at, b->r.weights.at, b->r.train.at,
                                               b->r.arena.at, ids, targets, B, T, 1, flags, NULL,
                                               NULL, &loss),
                     STRATA_OK);
    return loss;
}
