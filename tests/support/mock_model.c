/* SPDX-License-Identifier: MIT
** The mock model; see mock_model.h.  Its only state is the image of its descriptor.
*/
#include "mock_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 3, KERNELS = 2, COLUMNS = 16, TABLE = 0, PREVIOUS = 1, BIAS = 2 };

typedef struct Image { /* a descriptor and what its offsets point at */
    strata_model m;
    strata_tensor tensor[TENSORS];
    strata_kernel kernel[KERNELS];
    char text[512];
    uint32_t used;
    int64_t nan_at;
} Image;

typedef struct Ctx {
    strata_setup setup;
    int64_t calls;
    char message[128];
} Ctx;

typedef struct State {
    uint64_t hash;
    int64_t context, position;
    int32_t last;
} State;

static Image image;

static const strata_model *mock_model(void) { return &image.m; }
static const char *mock_message(const void *ctx) { return ((const Ctx *)ctx)->message; }

static const char *mock_strerror(int32_t status) { return status == STRATA_OK ? "done" : "failed"; }

static int32_t fail(Ctx *c, int32_t status, const char *text) {
    snprintf(c->message, sizeof c->message, "%s", text);
    return status;
}

static int32_t mock_init(void *ctx, size_t bytes, const strata_setup *setup) {
    if (bytes < sizeof(Ctx) || setup->workers < 1) return STRATA_ERROR_ARGUMENT;
    *(Ctx *)ctx = (Ctx){ .setup = *setup };
    return STRATA_OK;
}

static size_t mock_state_bytes(int64_t context) {
    (void)context;
    return sizeof(State);
}

static size_t mock_arena_bytes(int64_t tokens, int32_t workers) {
    return (size_t)(image.m.arena_per_token * tokens + image.m.arena_per_worker * workers
                    + image.m.arena_constant);
}

static int32_t mock_state_init(void *ctx, void *state, int64_t context) {
    (void)ctx;
    *(State *)state = (State){ .hash = image.m.spec_hash, .context = context, .last = -1 };
    return STRATA_OK;
}

static int32_t mock_state_copy(void *ctx, void *to, const void *from) {
    (void)ctx;
    int64_t context = ((State *)to)->context;
    *(State *)to = *(const State *)from;
    ((State *)to)->context = context;
    return STRATA_OK;
}

/* One pass over some tokens: before[i] is the id before tokens[i], or -1. */
typedef struct Pass {
    Ctx *ctx;
    const float *w;
    const int32_t *tokens, *targets;
    int64_t n, T;
    int32_t first;   /* the id before tokens[0]; T rows start anew */
    float *row;      /* [n, V] logits, then what is made of them */
    float *nll;      /* [n] or NULL */
    float *gradient; /* or NULL */
    float scale;
} Pass;

static int32_t before(const Pass *p, int64_t i) { return i % p->T ? p->tokens[i - 1] : p->first; }

static const float *weights(const Pass *p, int tensor, int32_t id) {
    return p->w + image.tensor[tensor].weight + (int64_t)id * image.m.vocab;
}

static void profile(const Pass *p, int32_t index, int32_t begin, int32_t worker) {
    if (p->ctx->setup.profile)
        p->ctx->setup.profile(p->ctx->setup.profile_user, index, begin, worker);
}

static void logits_task(void *arg, int64_t i, int32_t worker) {
    Pass *p = arg;
    int32_t V = image.m.vocab, last = before(p, i);
    float *row = p->row + i * V;
    profile(p, 0, 1, worker);
    for (int32_t v = 0; v < V; v++) {
        row[v] = weights(p, BIAS, 0)[v] + weights(p, TABLE, p->tokens[i])[v];
        if (last >= 0) row[v] += weights(p, PREVIOUS, last)[v];
    }
    profile(p, 0, 0, worker);
}

/* Row i from logits to softmax - onehot; nll. */
static void loss_task(void *arg, int64_t i, int32_t worker) {
    Pass *p = arg;
    int32_t V = image.m.vocab;
    float *row = p->row + i * V;
    double sum = 0, most = row[0];
    logits_task(arg, i, worker);
    for (int32_t v = 0; v < V; v++)
        most = row[v] > most ? row[v] : most;
    for (int32_t v = 0; v < V; v++)
        sum += exp(row[v] - most);
    p->nll[i] = (float)(most + log(sum) - row[p->targets[i]]);
    for (int32_t v = 0; v < V; v++)
        row[v] = (float)(exp(row[v] - most) / sum) - (v == p->targets[i] ? 1.0f : 0.0f);
}

/* Some columns of all gradients; tokens in order. */
static void gradient_task(void *arg, int64_t task, int32_t worker) {
    Pass *p = arg;
    int64_t V = image.m.vocab, end = (task + 1) * COLUMNS < V ? (task + 1) * COLUMNS : V;
    profile(p, 1, 1, worker);
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t v = task * COLUMNS; v < end; v++) {
            float d = p->row[i * V + v] * p->scale / (float)p->n;
            p->gradient[image.tensor[BIAS].gradient + v] += d;
            p->gradient[image.tensor[TABLE].gradient + p->tokens[i] * V + v] += d;
            if (before(p, i) >= 0)
                p->gradient[image.tensor[PREVIOUS].gradient + before(p, i) * V + v] += d;
        }
    profile(p, 1, 0, worker);
}

static void run(Pass *p, int64_t tasks, strata_task_fn fn) {
    if (p->ctx->setup.par_for) p->ctx->setup.par_for(p->ctx->setup.pool, tasks, fn, p);
    else
        for (int64_t i = 0; i < tasks; i++)
            fn(p, i, 0);
}

static int32_t mock_logits(void *ctx, const void *w, void *arena, const int32_t *tokens, int64_t B,
                           int64_t T, float *out) {
    (void)arena;
    Pass p = { .ctx = ctx, .w = w, .tokens = tokens, .n = B * T, .T = T, .first = -1, .row = out };
    run(&p, p.n, logits_task);
    return STRATA_OK;
}

static int32_t append(Ctx *c, const void *w, State *s, float *row, const int32_t *tokens,
                      int64_t n) {
    if (s->hash != image.m.spec_hash)
        return fail(c, STRATA_ERROR_STATE, "a state of another model");
    if (s->position + n > s->context)
        return fail(c, STRATA_ERROR_FULL, "the sequence would be longer than the context");
    Pass p = { .ctx = c, .w = w, .tokens = tokens, .n = n, .T = n, .first = s->last, .row = row };
    run(&p, n, logits_task);
    s->last = tokens[n - 1];
    s->position += n;
    return STRATA_OK;
}

static int32_t mock_prefill(void *ctx, const void *w, void *state, void *arena,
                            const int32_t *tokens, int64_t n, float *logits) {
    int32_t status = append(ctx, w, state, arena, tokens, n), V = image.m.vocab;
    if (status == STRATA_OK && logits)
        memcpy(logits, (float *)arena + (n - 1) * V, (size_t)V * sizeof *logits);
    return status;
}

static int32_t mock_decode(void *ctx, const void *w, void *const *states, int32_t batch,
                           void *arena, const int32_t *tokens, float *logits) {
    int32_t status = STRATA_OK;
    (void)arena;
    for (int32_t i = 0; i < batch && status == STRATA_OK; i++)
        status = append(ctx, w, states[i], logits + (int64_t)i * image.m.vocab, tokens + i, 1);
    return status;
}

static int32_t mock_loss(void *ctx, const void *w, void *arena, const int32_t *tokens,
                         const int32_t *targets, int64_t B, int64_t T, float *nll,
                         strata_loss *out) {
    Pass p = { .ctx = ctx,
               .w = w,
               .tokens = tokens,
               .targets = targets,
               .n = B * T,
               .T = T,
               .first = -1,
               .row = arena,
               .nll = nll };
    run(&p, p.n, loss_task);
    double sum = 0;
    for (int64_t i = 0; i < p.n; i++)
        sum += nll[i];
    out->loss = out->cross_entropy = sum / (double)p.n;
    return STRATA_OK;
}

static int32_t mock_forward_backward(void *ctx, const void *w, void *train, void *arena,
                                     const int32_t *tokens, const int32_t *targets, int64_t B,
                                     int64_t T, float scale, uint32_t flags, strata_range_fn final,
                                     void *user, strata_loss *out) {
    Ctx *c = ctx;
    if (!image.m.training) return fail(c, STRATA_ERROR_MISSING, "built for inference");
    float *nll = (float *)arena + B * T * image.m.vocab;
    int32_t status = mock_loss(ctx, w, arena, tokens, targets, B, T, nll, out);
    if (!(flags & STRATA_ACCUMULATE)) memset(train, 0, (size_t)image.m.gradients * sizeof(float));
    Pass p = { .ctx = ctx,
               .w = w,
               .tokens = tokens,
               .targets = targets,
               .n = B * T,
               .T = T,
               .first = -1,
               .row = arena,
               .gradient = train,
               .scale = scale };
    run(&p, (image.m.vocab + COLUMNS - 1) / COLUMNS, gradient_task);
    if (image.nan_at && ++c->calls == image.nan_at) {
        out->loss = NAN;
        ((float *)train)[image.tensor[PREVIOUS].gradient + 5] = NAN;
    }
    if (final && final(user, 0, image.m.gradients)) return STRATA_ERROR_STOPPED;
    return status;
}

static int32_t mock_sum_squares(void *ctx, const void *train, int64_t first, int64_t count,
                                double *out) {
    (void)ctx;
    *out = 0;
    for (int64_t i = first; i < first + count; i++)
        *out += (double)((const float *)train)[i] * ((const float *)train)[i];
    return STRATA_OK;
}

static int32_t mock_update(void *ctx, void *w, void *train, int64_t first, int64_t count,
                           const strata_adamw *how) {
    (void)ctx;
    float *g = train, *m = g + image.m.gradients, *v = m + image.m.gradients;
    double c1 = 1 - pow(how->beta1, (double)how->step), c2 = 1 - pow(how->beta2, (double)how->step);
    for (int k = 0; k < TENSORS; k++) {
        const strata_tensor *t = &image.tensor[k];
        for (int64_t j = 0; j < t->count; j++) {
            int64_t i = t->gradient + j;
            if (i < first || i >= first + count) continue;
            float *x = (float *)w + t->weight + j, d = g[i] * (float)how->grad_scale;
            m[i] = (float)(how->beta1 * m[i] + (1 - how->beta1) * d);
            v[i] = (float)(how->beta2 * v[i] + (1 - how->beta2) * d * d);
            double decayed = t->decay ? *x * (1 - how->lr * how->weight_decay) : *x;
            *x = (float)(decayed - how->lr * (m[i] / c1) / (sqrt(v[i] / c2) + how->eps));
        }
    }
    return STRATA_OK;
}

static uint32_t text(const char *s) {
    uint32_t at = image.used;
    size_t n = strlen(s) + 1;
    if (at + n > sizeof image.text) abort();
    memcpy(image.text + at, s, n);
    image.used += (uint32_t)n;
    return (uint32_t)(offsetof(Image, text) + at);
}

static void add_tensor(int k, const char *name, int32_t rank, int64_t weight, int64_t gradient) {
    int64_t V = image.m.vocab;
    image.tensor[k] = (strata_tensor){ .name = text(name),
                                       .rank = rank,
                                       .shape = { V, rank == 2 ? V : 0 },
                                       .weight = weight,
                                       .gradient = gradient,
                                       .count = rank == 2 ? V * V : V,
                                       .decay = rank == 2,
                                       .init = rank == 2,
                                       .value = rank == 2 ? 0.02 : 0 };
}

static void add_kernels(void) {
    double V = image.m.vocab;
    int training = image.m.training;
    strata_work rows = { .calls = 1, .flops_per_token = 2 * V, .bytes_per_token = 16 * V };
    strata_work columns = { .calls = 1, .flops_per_token = 6 * V, .bytes_per_token = 28 * V };
    image.kernel[0] = (strata_kernel){ .name = text("logits_rows"),
                                       .family = text("row"),
                                       .used = training ? STRATA_FORWARD | STRATA_DECODE
                                                        : STRATA_DECODE,
                                       .training = training ? rows : (strata_work){ 0 },
                                       .forward = rows };
    image.kernel[1] = (strata_kernel){ .name = text("gradient_columns"),
                                       .family = text("product"),
                                       .used = training ? STRATA_BACKWARD : 0,
                                       .training = training ? columns : (strata_work){ 0 } };
}

static void describe_sizes(strata_model *m, const MockOptions *o) {
    m->weights_bytes = m->parameters * 4;
    m->train_bytes = o->inference ? 0 : 3 * m->gradients * 4;
    m->ctx_bytes = sizeof(Ctx);
    m->arena_per_token = (o->vocab + 1) * 4;
    m->arena_constant = 64;
    m->state_constant = sizeof(State);
    m->flops_forward = 2 * (double)o->vocab;
    m->flops_training = 8 * (double)o->vocab;
}

static void describe_texts(strata_model *m, const MockOptions *o) {
    m->name = text("mock");
    m->compiler = text("0 by hand");
    m->cpu = text("any");
    m->features = text("");
    m->precision = text("f32");
    m->blas = text("generated");
    m->spec_file = text("mock.lua");
    m->mixer = text("standard");
    m->tokenizer = text(o->tokenizer);
    m->acausal = text(""), m->ahead = text(""), m->options = text("{}");
}

static void describe(const MockOptions *o) {
    strata_model *m = &image.m;
    int64_t V = o->vocab;
    *m = (strata_model){ .magic = STRATA_MAGIC,
                         .abi_version = STRATA_ABI,
                         .struct_size = sizeof *m,
                         .spec_hash = o->spec_hash ? o->spec_hash : 0x1234,
                         .vocab = o->vocab,
                         .context = o->context,
                         .dim = 1,
                         .layers = 1,
                         .sublayers = 1,
                         .training = !o->inference,
                         .parameters = 2 * V * V + V,
                         .gradients = 2 * V * V + V + 7,
                         .batch = o->batch ? o->batch : 4,
                         .schedule = o->schedule,
                         .lr = 0.05,
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .eps = 1e-8,
                         .weight_decay = 0.01,
                         .clip = 1,
                         .warmup = 0.1,
                         .decay = 0.2,
                         .min_lr = 0.005,
                         .seed = 42,
                         .chunk = 64 };
    describe_sizes(m, o);
    describe_texts(m, o);
    m->tensors = TENSORS;
    m->kernels = KERNELS;
    m->tensor_table = offsetof(Image, tensor);
    m->kernel_table = offsetof(Image, kernel);
    m->forms = 1, m->learned_positions = 1;
}

const strata_api *mock_api(const MockOptions *o) {
    static const strata_api api = {
        .struct_size = sizeof api,
        .model = mock_model,
        .strerror_ = mock_strerror,
        .init = mock_init,
        .state_bytes = mock_state_bytes,
        .arena_bytes = mock_arena_bytes,
        .state_init = mock_state_init,
        .state_copy = mock_state_copy,
        .prefill = mock_prefill,
        .decode = mock_decode,
        .logits = mock_logits,
        .forward_backward = mock_forward_backward,
        .sum_squares = mock_sum_squares,
        .update = mock_update,
        .loss = mock_loss,
        .message = mock_message,
    };
    int64_t V = o->vocab;
    memset(&image, 0, sizeof image);
    describe(o);
    image.nan_at = o->nan_at;
    add_tensor(TABLE, "table.weight", 2, 0, V + V * V);
    add_tensor(PREVIOUS, "previous.weight", 2, V * V, V);
    add_tensor(BIAS, "bias", 1, 2 * V * V, 0);
    add_kernels();
    return &api;
}
