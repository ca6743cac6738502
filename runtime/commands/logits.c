/* SPDX-License-Identifier: MIT
** The commands logits and gradients: tokens from a file, results to a file. logits processes
** groups of sequences, so that scratch memory does not grow with the file; a sequence's bits do
** not depend on its group.
*/
#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "safetensors.h"
#include "weights.h"

enum { GROUP_TOKENS = 4096, GROUP_SEQUENCES = 16 };

typedef struct Tokens {
    int64_t B, T;
    int32_t *at; /* [B,T] */
} Tokens;

/* Tensor 'name' int32 [B,T] of f, ids checked. */
static int read_tokens(const Program *p, const Safetensors *f, const char *name, Tokens *x,
                       Error *e) {
    const Tensor *t = safetensors_find(f, name);
    if (!t)
        return error_set(e, STATUS_USER, "%s: expected a tensor '%s' int32 [B,T], found none",
                         f->path, name);
    if (t->rank != 2 || (t->dtype != DTYPE_I32 && t->dtype != DTYPE_I64))
        return error_set(e, STATUS_USER, "%s:%s: expected int32 [B,T], found %s of rank %d",
                         f->path, name, dtype_name(t->dtype), t->rank);
    *x = (Tokens){ .B = t->shape[0], .T = t->shape[1] };
    if (x->B < 1 || x->T < 1)
        return error_set(e, STATUS_USER, "%s:%s: expected at least one token, found [%lld,%lld]",
                         f->path, name, (long long)x->B, (long long)x->T);
    if (x->T > p->m->context)
        return error_set(e, STATUS_USER,
                         "%s:%s: expected sequences of at most the context, %d tokens, found %lld",
                         f->path, name, p->m->context, (long long)x->T);
    x->at = malloc((size_t)t->count * sizeof *x->at);
    if (!x->at) return error_memory(e, name, (size_t)t->count * sizeof *x->at);
    int status = safetensors_read_i32(f, t, x->at, e);
    for (int64_t i = 0; i < t->count && !status; i++)
        if (x->at[i] < 0 || x->at[i] >= p->m->vocab)
            status = error_set(
                e, STATUS_USER, "%s:%s[%lld, %lld]: expected an id from 0 to %d, found %d", f->path,
                name, (long long)(i / x->T), (long long)(i % x->T), p->m->vocab - 1, x->at[i]);
    return status;
}

static int logits_read_input(const Program *p, Tokens *tokens, Tokens *targets, Error *e) {
    Safetensors f = { 0 };
    int status = safetensors_open(&f, option(p, OPTION_TOKENS)->text, e);
    if (status) return status;
    status = read_tokens(p, &f, "tokens", tokens, e);
    if (!status && targets) status = read_tokens(p, &f, "targets", targets, e);
    if (!status && targets && (targets->B != tokens->B || targets->T != tokens->T))
        status =
            error_set(e, STATUS_USER,
                      "%s:targets: expected the shape of tokens, [%lld,%lld], found [%lld,%lld]",
                      f.path, (long long)tokens->B, (long long)tokens->T, (long long)targets->B,
                      (long long)targets->T);
    safetensors_close(&f);
    return status;
}

/* The training form: every position in one pass. */
static int whole_sequences(const Program *p, Session *s, const Tokens *x, float *out, Error *e) {
    int64_t group = GROUP_TOKENS / x->T + (x->T > GROUP_TOKENS);
    group = group < x->B ? group : x->B;
    int status = session_arena(s, group * x->T, false, e);
    for (int64_t b = 0; b < x->B && !status; b += group) {
        int64_t n = x->B - b < group ? x->B - b : group;
        status = session_check(s,
                               s->api->logits(s->ctx.at, s->weights.at, s->arena.at,
                                              x->at + b * x->T, n, x->T,
                                              out + b * x->T * p->m->vocab),
                               "logits", e);
    }
    return status;
}

/* One group of n sequences through the caches; row: [n, V] scratch. */
static int step_sequences(Session *s, void *const *state, const Tokens *x, int64_t b, int32_t n,
                          float *row, float *out, Error *e) {
    int32_t next[GROUP_SEQUENCES];
    int64_t V = s->m->vocab;
    int status = STATUS_OK;
    for (int32_t i = 0; i < n && !status; i++) {
        status = session_check(s, s->api->state_init(s->ctx.at, state[i], s->m->context),
                               "state_init", e);
        if (!status)
            status = session_check(s,
                                   s->api->prefill(s->ctx.at, s->weights.at, state[i], s->arena.at,
                                                   x->at + (b + i) * x->T, 1,
                                                   out + (b + i) * x->T * V),
                                   "prefill", e);
    }
    for (int64_t t = 1; t < x->T && !status; t++) {
        for (int32_t i = 0; i < n; i++)
            next[i] = x->at[(b + i) * x->T + t];
        status = session_check(
            s, s->api->decode(s->ctx.at, s->weights.at, state, n, s->arena.at, next, row), "decode",
            e);
        for (int32_t i = 0; i < n; i++)
            for (int64_t v = 0; v < V; v++)
                out[((b + i) * x->T + t) * V + v] = row[i * V + v];
    }
    return status;
}

/* The generating form: token by token. */
static int token_by_token(const Program *p, Session *s, const Tokens *x, float *out, Error *e) {
    int32_t group = x->B < GROUP_SEQUENCES ? (int32_t)x->B : GROUP_SEQUENCES;
    Region state[GROUP_SEQUENCES] = { { 0 } };
    void *at[GROUP_SEQUENCES];
    float *row = calloc((size_t)group * (size_t)p->m->vocab, sizeof *row);
    int status = row ? session_arena(s, group, true, e)
                     : error_memory(e, "logits", (size_t)group * (size_t)p->m->vocab * 4);
    for (int32_t i = 0; i < group && !status; i++) {
        status = session_state(s, &state[i], p->m->context, e);
        at[i] = state[i].at;
    }
    for (int64_t b = 0; b < x->B && !status; b += group) {
        int32_t n = x->B - b < group ? (int32_t)(x->B - b) : group;
        status = step_sequences(s, at, x, b, n, row, out, e);
    }
    for (int32_t i = 0; i < group; i++)
        region_close(&state[i]);
    free(row);
    return status;
}

static int logits_check_finite(const float *x, int64_t count, const char *what, Error *e) {
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return error_set(e, STATUS_USER, "%s; the weights are not usable", what);
    return STATUS_OK;
}

/* The command, as its results say. */
static Pair logits_made_by(const Program *p) {
    return (Pair){ "made by", p->options.table->command[p->options.command].name };
}

static int write_result(const Program *p, const TensorList *l, Error *e) {
    const Pair made = logits_made_by(p);
    return safetensors_write(option(p, OPTION_OUT)->text, l, &made, 1, 0, e);
}

static int write_logits(const Program *p, Session *s, const Tokens *x, Error *e) {
    Region out = { 0 };
    size_t bytes;
    if (__builtin_mul_overflow((size_t)(x->B * x->T), (size_t)p->m->vocab * sizeof(float), &bytes))
        return error_memory(e, "logits", SIZE_MAX);
    int status = region_open(&out, "logits", bytes, e);
    if (!status)
        status = option(p, OPTION_AS_GENERATED)->given ? token_by_token(p, s, x, out.at, e)
                                                       : whole_sequences(p, s, x, out.at, e);
    if (!status)
        status = logits_check_finite(out.at, (int64_t)(bytes / sizeof(float)),
                                     "logits: expected finite logits", e);
    TensorList l = { 0 };
    int64_t shape[3] = { x->B, x->T, p->m->vocab };
    if (!status) status = tensors_add(&l, "", "logits", DTYPE_F32, 3, shape, out.at, e);
    if (!status) status = write_result(p, &l, e);
    tensors_free(&l);
    region_close(&out);
    return status;
}

static int write_gradients(const Program *p, Session *s, const Tokens *x, const Tokens *targets,
                           Error *e) {
    int64_t tokens = x->B * x->T, one = 1;
    strata_loss loss = { .struct_size = sizeof loss };
    int status = session_train(s, e);
    if (!status) status = session_arena(s, tokens, false, e);
    if (!status)
        status = session_check(s,
                               s->api->forward_backward(s->ctx.at, s->weights.at, s->train.at,
                                                        s->arena.at, x->at, targets->at, x->B, x->T,
                                                        1.0f, 0, NULL, NULL, &loss),
                               "forward_backward", e);
    float total = (float)loss.loss, cross_entropy = (float)loss.cross_entropy;
    if (!status) status = logits_check_finite(&total, 1, "gradients: expected a finite loss", e);
    TensorList l = { 0 };
    if (!status) status = tensors_add(&l, "", "loss", DTYPE_F32, 1, &one, &total, e);
    if (!status)
        status = tensors_add(&l, "", "cross_entropy", DTYPE_F32, 1, &one, &cross_entropy, e);
    if (!status) status = weights_list_train(&l, p->m, "grad.", s->train.at, 0, e);
    if (!status) status = write_result(p, &l, e);
    tensors_free(&l);
    return status;
}

static bool is_result(const PlaceFile *f, const void *user) {
    const Pair *made = user;
    Safetensors s = { 0 };
    if (safetensors_open(&s, f->in.path, NULL)) return false;
    const char *by = safetensors_metadata(&s, made->key);
    bool own = by && !strcmp(by, made->value);
    safetensors_close(&s);
    return own;
}

static int logits_check_output(const Program *p, Error *e) {
    const Pair made = logits_made_by(p);
    const FilePlace place = { .path = option(p, OPTION_OUT)->text,
                              .is_own = is_result,
                              .user = &made,
                              .overwrite = option(p, OPTION_OVERWRITE)->given };
    int status = program_unread(p, place.path, e);
    return status ? status : place_check(&place, e);
}

static int require_files(const Program *p, Error *e) {
    static const OptionId needed[] = { OPTION_WEIGHTS, OPTION_TOKENS, OPTION_OUT };
    int status = STATUS_OK;
    for (int i = 0; i < 3 && !status; i++)
        status = options_require(&p->options, needed[i], e);
    return status ? status : logits_check_output(p, e);
}

static int logits_run(const Program *p, bool gradients, Error *e) {
    Session s = { 0 };
    Tokens tokens = { 0 }, targets = { 0 };
    int status = require_files(p, e);
    if (!status && !gradients && option(p, OPTION_AS_GENERATED)->given)
        status = program_causal(p, "logits: --as-generated", e);
    if (!status) status = logits_read_input(p, &tokens, gradients ? &targets : NULL, e);
    if (!status) status = program_session(p, &s, e);
    if (!status) status = program_weights(p, &s, NULL, e);
    if (!status)
        status = gradients ? write_gradients(p, &s, &tokens, &targets, e)
                           : write_logits(p, &s, &tokens, e);
    free(tokens.at);
    free(targets.at);
    session_close(&s);
    return status;
}

int command_logits(const Program *p, Error *e) { return logits_run(p, false, e); }

int command_gradients(const Program *p, Error *e) {
    if (!p->m->training)
        return error_set(e, STATUS_USER,
                         "gradients: %s was built with --inference: expected a training build",
                         model_text(p, p->m->name));
    return logits_run(p, true, e);
}
