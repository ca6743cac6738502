/* SPDX-License-Identifier: MIT
** See draft.h.  Both models' states run ahead of the accepted text and go back to it with
** state_truncate.  If a state cannot be truncated, an earlier copy of it is restored, and its
** tokens are read again with those that come next.
*/
#include "draft.h"

#include <stdlib.h>
#include <string.h>

/* A model's state: the sequence's first 'length' tokens, proposals among them. */
typedef struct Side {
    Session *s;
    Region state, copy;     /* copy: where it cannot go back, what it was before the last call */
    int64_t length, copied; /* copied: tokens of the copy */
    int64_t context;
} Side;

struct Draft {
    Side model, draft;
    int32_t *ids;   /* [length] the sequence, as far as it is known */
    int64_t known;  /* how many tokens that is */
    float *logits;  /* [STRATA_BACK][V] of the model's last call */
    float *guesses; /* [STRATA_BACK][V] of the draft's */
    int32_t proposal[STRATA_BACK];
    int64_t row;             /* of the logits that the first proposal was checked by */
    int64_t count, held;     /* proposals of the last call, and those that held so far */
    int64_t proposed, taken; /* of all */
};

/* == A model's state ====================================================== */

static int draft_check(const Side *x, int32_t code, const char *doing, Error *e) {
    return session_check(x->s, code, doing, e);
}

static int empty_state(const Side *x, const Region *state, Error *e) {
    return draft_check(x, x->s->api->state_init(x->s->ctx.at, state->at, x->context), "state_init",
                       e);
}

static int empty(Side *x, Error *e) {
    x->length = x->copied = 0;
    int status = empty_state(x, &x->state, e);
    return status || !x->copy.at ? status : empty_state(x, &x->copy, e);
}

/* Routes may take some of the tokens or all; other operations let a state always go back, or not
** from two tokens to one. */
static int needs_copy(Side *x, bool *copy, Error *e) {
    const strata_api *a = x->s->api;
    float *out = calloc((size_t)x->s->m->vocab * 2, sizeof *out);
    const int32_t two[2] = { 0, 0 };
    if (!out) return error_memory(e, "logits", (size_t)x->s->m->vocab * 2 * sizeof *out);
    int status = draft_check(
        x, a->extend(x->s->ctx.at, x->s->weights.at, x->state.at, x->s->arena.at, two, 2, out),
        "extend", e);
    *copy = x->s->m->routed > 0
        || a->state_truncate(x->s->ctx.at, x->state.at, 1) == STRATA_ERROR_PAST;
    free(out);
    return status;
}

static int open_side(Side *x, Session *s, const Region *state, int64_t context, Error *e) {
    bool copy = false;
    *x = (Side){ .s = s, .context = context };
    int status = state ? STATUS_OK : session_state(s, &x->state, context, e);
    if (state) x->state = *state;
    if (!status) status = session_arena(s, STRATA_BACK, true, e);
    if (!status && context > 1) status = needs_copy(x, &copy, e);
    if (!status && copy) status = session_state(s, &x->copy, context, e);
    return status ? status : empty(x, e);
}

/* The state has no more than 'length' tokens, or fewer. */
static int go_back(Side *x, int64_t length, Error *e) {
    const strata_api *a = x->s->api;
    if (x->length <= length) return STATUS_OK;
    bool copied = x->copy.at != NULL;
    x->length = copied ? x->copied : length;
    return copied
        ? draft_check(x, a->state_copy(x->s->ctx.at, x->state.at, x->copy.at), "state_copy", e)
        : draft_check(x, a->state_truncate(x->s->ctx.at, x->state.at, length), "state_truncate", e);
}

static int extend(Side *x, const int32_t *ids, int64_t count, float *logits, Error *e) {
    x->length += count;
    return draft_check(x,
                       x->s->api->extend(x->s->ctx.at, x->s->weights.at, x->state.at,
                                         x->s->arena.at, ids, count, logits),
                       "extend", e);
}

static int keep_copy(Side *x, Error *e) {
    x->copied = x->length;
    return x->copy.at ? draft_check(x, x->s->api->state_copy(x->s->ctx.at, x->copy.at, x->state.at),
                                    "state_copy", e)
                      : STATUS_OK;
}

/* Reads ids, of which it has the first, up to number 'end', a few at a time. */
static int catch_up(Side *x, const int32_t *ids, int64_t end, float *logits, Error *e) {
    int status = STATUS_OK;
    while (!status && x->length < end) {
        int64_t left = end - x->length;
        status = extend(x, ids + x->length, left < STRATA_BACK ? left : STRATA_BACK, logits, e);
    }
    return status;
}

static int draft_prefill(Side *x, const int32_t *ids, int64_t count, float *logits, Error *e) {
    Session *s = x->s;
    int status = session_arena(s, count, true, e);
    x->length += count;
    if (status || !count) return status;
    return draft_check(
        x, s->api->prefill(s->ctx.at, s->weights.at, x->state.at, s->arena.at, ids, count, logits),
        "prefill", e);
}

/* == Both ================================================================= */

int draft_open(Draft **out, Session *proposer, Session *s, const Region *state, int64_t length,
               Error *e) {
    Draft *d = *out = calloc(1, sizeof *d);
    if (!d) return error_memory(e, "draft", sizeof *d);
    int64_t own = proposer->m->context;
    size_t room = (size_t)s->m->vocab * STRATA_BACK;
    d->ids = calloc((size_t)length, sizeof *d->ids);
    d->logits = calloc(room, sizeof *d->logits);
    d->guesses = calloc(room, sizeof *d->guesses);
    if (!d->ids || !d->logits || !d->guesses)
        return error_memory(e, "logits", 2 * room * sizeof *d->logits);
    int status = open_side(&d->model, s, state, length, e);
    return status ? status : open_side(&d->draft, proposer, NULL, own < length ? own : length, e);
}

void draft_close(Draft *d) {
    if (!d) return;
    region_close(&d->model.copy);
    region_close(&d->draft.copy);
    region_close(&d->draft.state);
    free(d->ids), free(d->logits), free(d->guesses);
    free(d);
}

int draft_reset(Draft *d, Error *e) {
    d->known = d->count = d->held = 0;
    int status = empty(&d->model, e);
    return status ? status : empty(&d->draft, e);
}

/* Proposals that did not hold are taken away. */
static int settle(Draft *d, Error *e) {
    d->count = d->held = 0;
    int status = go_back(&d->model, d->known, e);
    return status ? status : go_back(&d->draft, d->known, e);
}

int draft_read(Draft *d, const int32_t *ids, int64_t count, float *logits, Error *e) {
    int status = settle(d, e);
    if (!status) status = catch_up(&d->model, d->ids, d->known, d->logits, e);
    if (status) return status;
    memcpy(d->ids + d->known, ids, (size_t)count * sizeof *ids);
    d->known += count;
    status = draft_prefill(&d->model, ids, count, logits, e);
    if (status || d->known > d->draft.context) return status;
    return draft_prefill(&d->draft, d->ids + d->draft.length, d->known - d->draft.length,
                         d->guesses, e);
}

/* The token behind the proposals, drawn as the sequence's own; -1: a logit is not finite. */
static int32_t guess(const Draft *d, Sampler *sampler, const float *logits, int64_t position) {
    bool fresh[STRATA_BACK];
    for (int64_t i = 0; i < d->count; i++)
        fresh[i] = sampler_see(sampler, d->proposal[i]);
    int32_t id = sampler_next(sampler, logits, position + d->count);
    for (int64_t i = 0; i < d->count; i++)
        if (fresh[i]) sampler_unsee(sampler, d->proposal[i]);
    return id;
}

/* Proposes 'most' tokens at most, fewer where the draft's text ends. */
static int propose(Draft *d, int64_t most, Sampler *sampler, int64_t position, Error *e) {
    int64_t V = d->model.s->m->vocab, read = d->known - d->draft.length;
    int status = keep_copy(&d->draft, e);
    if (!status) status = catch_up(&d->draft, d->ids, d->known, d->guesses, e);
    float *last = d->guesses + (read > 0 ? (read - 1) % STRATA_BACK : 0) * V;
    while (!status && d->count < most) {
        int32_t id = guess(d, sampler, last, position);
        if (id < 0) break;
        d->proposal[d->count++] = id;
        if (d->count == most) break;
        last = d->guesses;
        status = extend(&d->draft, &id, 1, last, e);
    }
    d->proposed += d->count;
    return status;
}

/* How many proposals a call of the model has room for behind the tokens that it must read. */
static int64_t draft_room_of(const Draft *d) {
    int64_t room = STRATA_BACK - (d->known - d->model.length);
    int64_t left = d->draft.context - d->known, more = d->model.context - d->known;
    if (left < room) room = left;
    if (more < room) room = more;
    return room > 0 ? room : 0;
}

int draft_next(Draft *d, int32_t id, Sampler *sampler, int64_t position, float *logits, Error *e) {
    size_t V = (size_t)d->model.s->m->vocab;
    bool held = d->held < d->count && d->proposal[d->held] == id;
    int status = STATUS_OK;
    if (held) d->held++, d->taken++;
    else status = settle(d, e);
    d->ids[d->known++] = id;
    if (!held && !status) {
        int32_t call[STRATA_BACK];
        int64_t most = draft_room_of(d), read = d->known - d->model.length;
        if (most) status = propose(d, most, sampler, position, e);
        memcpy(call, d->ids + d->model.length, (size_t)read * sizeof *call);
        memcpy(call + read, d->proposal, (size_t)d->count * sizeof *call);
        d->row = read - 1;
        if (!status) status = keep_copy(&d->model, e);
        if (!status) status = extend(&d->model, call, read + d->count, d->logits, e);
    }
    memcpy(logits, d->logits + (size_t)(d->row + d->held) * V, V * sizeof *logits);
    return status;
}

void draft_counts(const Draft *d, int64_t *proposed, int64_t *held) {
    *proposed = d->proposed;
    *held = d->taken;
}
