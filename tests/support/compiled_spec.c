/* SPDX-License-Identifier: MIT
** See compiled_spec.h. */
#include "compiled_spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* == Specs ================================================================ */

static void must(int status, const Instance *r, const char *what) {
    if (!status) return;
    fprintf(stderr, "%s: status %d: %s\n", what, status, r->c->api.message(r->ctx.at));
    abort();
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (f && fputs(text, f) >= 0 && !fclose(f)) return;
    perror(path);
    abort();
}

ModelInfo spec_info(const Model *m) {
    return (ModelInfo){ .name = m->name,
                        .rules = m->rules,
                        .file = m->file,
                        .mixer = m->mixer,
                        .acausal = m->acausal,
                        .ahead = m->ahead,
                        .vocab = m->vocab,
                        .context = m->context,
                        .dim = m->dim,
                        .layers = m->layers,
                        .sublayers = m->sublayers,
                        .train = m->train,
                        .hash = m->hash };
}

void built_open(Built *b, const char *path, const char *lua, const CodegenOptions *o) {
    Error error;
    if (lua) write_text(path, lua);
    b->m = spec_load(path, NULL, &error);
    if (!b->m) {
        fprintf(stderr, "%s\n%s", error.text, lua ? lua : path);
        abort();
    }
    ModelInfo info = spec_info(b->m);
    compiled_open(&b->c, b->m->graph, &info, o);
}

void built_close(Built *b) {
    compiled_close(&b->c);
    spec_free(b->m);
}

/* == Weights ============================================================== */

static void fill_tensor(Instance *r, const strata_tensor *t, uint64_t seed) {
    const char *name = strata_string(r->c->model, t->name);
    Random random = { seed };
    for (const char *c = name; *c; c++)
        random.state = random.state * 1099511628211u + (unsigned char)*c;
    double scale = t->rank < 2 ? 1 : sqrt(3.0 / (double)t->shape[t->rank - 1]);
    for (int64_t i = 0; i < t->count; i++)
        instance_put(r, t, i, (float)(scale * draw_uniform(&random, -1, 1)));
}

void instance_fill(Instance *r, uint64_t seed) {
    const strata_tensor *t = strata_tensors(r->c->model);
    guarded_writable(&r->weights, true);
    memset(r->weights.at, 0, r->weights.size); /* what lies between tensors too */
    for (int i = 0; i < r->c->model->tensors; i++)
        fill_tensor(r, &t[i], seed);
    guarded_writable(&r->weights, false);
}

static bool ends_so(const char *name, const char *ending) {
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && !strcmp(name + n - m, ending);
}

void instance_set(Instance *r, const char *ending, float value) {
    const strata_tensor *t = strata_tensors(r->c->model);
    guarded_writable(&r->weights, true);
    for (int i = 0; i < r->c->model->tensors; i++) {
        const char *name = strata_string(r->c->model, t[i].name);
        for (int64_t k = 0; ends_so(name, ending) && k < t[i].count; k++)
            instance_put(r, &t[i], k, value);
    }
    guarded_writable(&r->weights, false);
}

/* == Calls ================================================================ */

static void *take(int64_t count, size_t size) {
    void *p = calloc((size_t)count + 1, size);
    if (!p) abort();
    return p;
}

int32_t *some_ids(const Compiled *c, uint64_t seed, int64_t count) {
    Random random = { seed };
    int32_t *ids = take(count, sizeof *ids);
    for (int64_t i = 0; i < count; i++)
        ids[i] = draw_below(&random, c->model->vocab);
    return ids;
}

float *logits_of(Instance *r, const int32_t *tokens, int64_t batch, int64_t time) {
    float *out = take(batch * time * r->c->model->vocab, sizeof *out);
    must(r->c->api.logits(r->ctx.at, r->weights.at, r->arena.at, tokens, batch, time, out), r,
         "logits");
    return out;
}

int64_t gradient_floats(const Compiled *c) { return c->model->gradients; }

float *gradients_of(Instance *r, const int32_t *tokens, const int32_t *targets, int64_t batch,
                    int64_t time, strata_loss *loss) {
    float *out = take(gradient_floats(r->c), sizeof *out);
    must(r->c->api.forward_backward(r->ctx.at, r->weights.at, r->train.at, r->arena.at, tokens,
                                    targets, batch, time, 1, 0, NULL, NULL, loss),
         r, "forward_backward");
    memcpy(out, r->train.at, (size_t)gradient_floats(r->c) * sizeof *out);
    return out;
}

enum { MOST_SEQUENCES = 8 };

float *decoded_logits(Instance *r, const int32_t *tokens, int batch, int64_t time,
                      const int *prompt) {
    const strata_api *a = &r->c->api;
    int64_t V = r->c->model->vocab;
    float *out = take(batch * time * V, sizeof *out), *row = take(batch * V, sizeof *row);
    Guarded state[MOST_SEQUENCES];
    if (batch > MOST_SEQUENCES) abort();
    for (int i = 0; i < batch; i++) {
        guarded_open(&state[i], a->state_bytes(r->c->model->context));
        must(a->state_init(r->ctx.at, state[i].at, r->c->model->context), r, "state_init");
        must(a->prefill(r->ctx.at, r->weights.at, state[i].at, r->arena.at, tokens + i * time,
                        prompt[i], out + (i * time + prompt[i] - 1) * V),
             r, "prefill");
    }
    for (int64_t step = 0; step < time; step++) {
        void *some[MOST_SEQUENCES];
        int32_t next[MOST_SEQUENCES], n = 0;
        int64_t to[MOST_SEQUENCES];
        for (int i = 0; i < batch; i++) {
            if (prompt[i] + step >= time) continue;
            some[n] = state[i].at, to[n] = i * time + prompt[i] + step;
            next[n] = tokens[to[n]], n++;
        }
        if (n)
            must(a->decode(r->ctx.at, r->weights.at, some, n, r->arena.at, next, row), r, "decode");
        for (int k = 0; k < n; k++)
            memcpy(out + to[k] * V, row + k * V, (size_t)V * sizeof *row);
    }
    for (int i = 0; i < batch; i++)
        guarded_close(&state[i]);
    free(row);
    return out;
}

double difference(const float *a, const float *b, int64_t count) {
    double most = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - b[i]);
        if (!(d <= most)) most = isnan(d) ? INFINITY : d;
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}
