/* SPDX-License-Identifier: MIT
** Continuations: a context is read once into a state, each of its continuations goes on in a copy
** of that, token by token, as many at once as there are copies.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "score.h"

enum { SLOTS = 32, PIECE = 2048 }; /* tokens of a context that are read at once */

typedef struct ScoreJob { /* a continuation in a state of its own */
    ScoreSpan *span;
    int64_t next;  /* of its tokens, the one to be fed */
    Region *state; /* one of 'slot' */
} ScoreJob;

struct ScoreRun {
    Session *s;
    Region base, slot[SLOTS]; /* after a context; after a part of a continuation */
    ScoreJob job[SLOTS];      /* the first 'jobs' are at work, the states of the others are free */
    int32_t slots, jobs;
    int64_t longest;
    float *after, *logits;   /* [V] after the context; [slots, V] */
    const ScoreSpan *shared; /* whose context 'base' holds; NULL: nobody's */
};

/* As many as an eighth of the memory holds. */
static int32_t count_slots(const Session *s, int64_t longest) {
    uint64_t bytes = s->api->state_bytes(longest) + (uint64_t)s->m->vocab * sizeof(float);
    uint64_t fit = memory_physical() / 8 / bytes, most = (uint64_t)s->m->chunk;
    most = most < SLOTS ? most : SLOTS;
    return (int32_t)(fit < 1 ? 1 : fit < most ? fit : most);
}

static int open_states(ScoreRun *run, Error *e) {
    Session *s = run->s;
    size_t V = (size_t)s->m->vocab;
    int64_t piece = run->longest < PIECE ? run->longest : PIECE;
    run->after = malloc(V * sizeof *run->after);
    run->logits = malloc((size_t)run->slots * V * sizeof *run->logits);
    if (!run->after || !run->logits) return error_memory(e, "logits", (size_t)run->slots * V * 4);
    int status = session_arena(s, piece > run->slots ? piece : run->slots, true, e);
    if (!status) status = session_state(s, &run->base, run->longest, e);
    for (int32_t i = 0; i < run->slots && !status; i++) {
        status = session_state(s, &run->slot[i], run->longest, e);
        run->job[i].state = &run->slot[i];
    }
    return status;
}

ScoreRun *score_run_open(Session *s, int64_t longest, Error *e) {
    ScoreRun *run = calloc(1, sizeof *run);
    if (!run) {
        error_memory(e, "score", sizeof *run);
        return NULL;
    }
    run->s = s;
    run->longest = longest;
    run->slots = count_slots(s, longest);
    if (!open_states(run, e)) return run;
    score_run_close(run);
    return NULL;
}

void score_run_close(ScoreRun *run) {
    if (!run) return;
    region_close(&run->base);
    for (int32_t i = 0; i < run->slots; i++)
        region_close(&run->slot[i]);
    free(run->after);
    free(run->logits);
    free(run);
}

/* Token i of a continuation under the logits of the position before it. */
static int add_token(const ScoreRun *run, ScoreSpan *x, int64_t i, const float *logits, Error *e) {
    int32_t best = 0, target = x->ids[x->context + i];
    for (int32_t v = 0; v < run->s->m->vocab; v++) {
        if (!isfinite(logits[v]))
            return error_set(e, STATUS_USER,
                             "score: expected finite logits; the weights are not usable");
        if (logits[v] > logits[best]) best = v;
    }
    double sum = 0, top = logits[best];
    for (int32_t v = 0; v < run->s->m->vocab; v++)
        sum += exp(logits[v] - top);
    x->nll += log(sum) + top - logits[target];
    x->greedy = x->greedy && best == target;
    return STATUS_OK;
}

/* One more token of every continuation at work; those that are done leave. */
static int step(ScoreRun *run, Error *e) {
    Session *s = run->s;
    int32_t next[SLOTS];
    void *state[SLOTS];
    for (int32_t i = 0; i < run->jobs; i++) {
        const ScoreJob *job = &run->job[i];
        next[i] = job->span->ids[job->span->context + job->next];
        state[i] = job->state->at;
    }
    int status = session_check(
        s,
        s->api->decode(s->ctx.at, s->weights.at, state, run->jobs, s->arena.at, next, run->logits),
        "decode", e);
    for (int32_t i = 0; i < run->jobs && !status; i++)
        status = add_token(run, run->job[i].span, ++run->job[i].next,
                           run->logits + (int64_t)i * s->m->vocab, e);
    for (int32_t i = run->jobs; !status && i-- > 0;) {
        if (run->job[i].next + 1 < run->job[i].span->count) continue;
        ScoreJob done = run->job[i];
        run->job[i] = run->job[--run->jobs];
        run->job[run->jobs] = done;
    }
    return status;
}

static bool same_context(const ScoreSpan *a, const ScoreSpan *b) {
    return a && a->context == b->context
        && !memcmp(a->ids, b->ids, (size_t)a->context * sizeof *a->ids);
}

static int read_context(ScoreRun *run, const ScoreSpan *x, Error *e) {
    Session *s = run->s;
    if (same_context(run->shared, x)) return STATUS_OK;
    run->shared = NULL;
    int status = session_check(s, s->api->state_init(s->ctx.at, run->base.at, run->longest),
                               "state_init", e);
    for (int64_t at = 0, n; at < x->context && !status; at += n) {
        n = x->context - at < PIECE ? x->context - at : PIECE;
        float *out = at + n == x->context ? run->after : NULL;
        status = session_check(s,
                               s->api->prefill(s->ctx.at, s->weights.at, run->base.at, s->arena.at,
                                               x->ids + at, n, out),
                               "prefill", e);
    }
    if (!status) run->shared = x;
    return status;
}

/* Scores the first token, and gives the continuation a state where there are more. */
static int begin(ScoreRun *run, ScoreSpan *x, Error *e) {
    Session *s = run->s;
    x->greedy = true;
    int status = read_context(run, x, e);
    if (!status) status = add_token(run, x, 0, run->after, e);
    while (!status && x->count > 1 && run->jobs == run->slots)
        status = step(run, e);
    if (status || x->count == 1) return status;
    ScoreJob *job = &run->job[run->jobs++];
    job->span = x;
    job->next = 0;
    return session_check(s, s->api->state_copy(s->ctx.at, job->state->at, run->base.at),
                         "state_copy", e);
}

int score_continuations(ScoreRun *run, ScoreRequest *q, int32_t requests, Error *e) {
    int status = STATUS_OK;
    for (int32_t i = 0; i < requests; i++)
        for (int32_t k = 0; q[i].kind != SCORE_TEXT && k < q[i].spans && !status; k++)
            if (!q[i].span[k].why) status = begin(run, &q[i].span[k], e);
    while (!status && run->jobs)
        status = step(run, e);
    run->shared = NULL; /* the requests may go */
    return status;
}
