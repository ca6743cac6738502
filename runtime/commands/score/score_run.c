/* SPDX-License-Identifier: MIT
** Scores continuations.  A context is read once into a sequence; each of its continuations extends
** a copy of it, token by token, as many at once as there are copies (generator.h).
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "generator.h"
#include "score.h"

enum { SLOTS = 32, PIECE = 2048 }; /* tokens of a context that are read at once */

static const SequenceSettings score_run_told = { .name = "score", .told = true };

typedef struct ScoreJob { /* a continuation in a sequence of its own */
    ScoreSpan *span;
    int64_t next; /* of its tokens, the one that the model reads next */
    Sequence *sequence;
} ScoreJob;

struct ScoreRun {
    const strata_model *m;
    Generator *generator;
    Sequence *base; /* a context, of which continuations are copies */
    ScoreJob job[SLOTS];
    int32_t slots, jobs;
    const ScoreSpan *shared; /* whose context 'base' holds; NULL: nobody's */
};

/* As many as an eighth of the memory holds. */
static int32_t count_slots(const Session *s, int64_t longest) {
    uint64_t fit = memory_physical() / 8 / generator_slot_bytes(s, longest);
    uint64_t most = (uint64_t)s->m->chunk;
    most = most < SLOTS ? most : SLOTS;
    return (int32_t)(fit < 1 ? 1 : fit < most ? fit : most);
}

ScoreRun *score_run_open(Session *s, int64_t longest, Error *e) {
    ScoreRun *run = calloc(1, sizeof *run);
    if (!run) {
        error_memory(e, "score", sizeof *run);
        return NULL;
    }
    run->m = s->m;
    run->slots = count_slots(s, longest);
    int status = generator_open(&run->generator, s, NULL, run->slots + 1, longest, e);
    if (!status) status = generator_add(run->generator, &run->base, &score_run_told, e);
    if (!status) return run;
    score_run_close(run);
    return NULL;
}

void score_run_close(ScoreRun *run) {
    if (!run) return;
    generator_close(run->generator);
    free(run);
}

/* Token i of a continuation under the logits of the position before it. */
static int score_run_add_token(const ScoreRun *run, ScoreSpan *x, int64_t i, const float *logits,
                               Error *e) {
    int32_t best = 0, target = x->ids[x->context + i];
    for (int32_t v = 0; v < run->m->vocab; v++) {
        if (!isfinite(logits[v]))
            return error_set(e, STATUS_USER,
                             "score: expected finite logits; the weights are not usable");
        if (logits[v] > logits[best]) best = v;
    }
    double sum = 0, top = logits[best];
    for (int32_t v = 0; v < run->m->vocab; v++)
        sum += exp(logits[v] - top);
    x->nll += log(sum) + top - logits[target];
    x->greedy = x->greedy && best == target;
    return STATUS_OK;
}

/* One more token of every continuation at work; those that are done leave. */
static int score_run_step(ScoreRun *run, Error *e) {
    int status = generator_advance(run->generator, e);
    for (int32_t i = run->jobs; !status && i-- > 0;) {
        ScoreJob *job = &run->job[i];
        const ScoreSpan *x = job->span;
        status = score_run_add_token(run, job->span, ++job->next, job->sequence->slot->logits, e);
        if (job->next + 1 < x->count) {
            sequence_append(job->sequence, x->ids[x->context + job->next]);
            continue;
        }
        sequence_close(job->sequence);
        *job = run->job[--run->jobs];
    }
    return status;
}

static bool same_context(const ScoreSpan *a, const ScoreSpan *b) {
    return a && a->context == b->context
        && !memcmp(a->ids, b->ids, (size_t)a->context * sizeof *a->ids);
}

static int read_context(ScoreRun *run, const ScoreSpan *x, Error *e) {
    if (same_context(run->shared, x)) return STATUS_OK;
    run->shared = NULL;
    int status = sequence_reset(run->base, 0, e);
    for (int64_t at = 0, n; at < x->context && !status; at += n) {
        n = x->context - at < PIECE ? x->context - at : PIECE;
        status = sequence_read(run->base, x->ids + at, n, e);
    }
    if (!status) run->shared = x;
    return status;
}

/* Scores the first token, and gives the continuation a sequence where there are more. */
static int score_run_begin(ScoreRun *run, ScoreSpan *x, Error *e) {
    x->greedy = true;
    int status = read_context(run, x, e);
    if (!status) status = score_run_add_token(run, x, 0, run->base->slot->logits, e);
    while (!status && x->count > 1 && run->jobs == run->slots)
        status = score_run_step(run, e);
    if (status || x->count == 1) return status;
    ScoreJob *job = &run->job[run->jobs++];
    *job = (ScoreJob){ .span = x };
    status = generator_add(run->generator, &job->sequence, &score_run_told, e);
    if (!status) status = sequence_copy(job->sequence, run->base, e);
    if (status) return status;
    sequence_append(job->sequence, x->ids[x->context]);
    return STATUS_OK;
}

int score_continuations(ScoreRun *run, ScoreRequest *q, int32_t requests, Error *e) {
    int status = STATUS_OK;
    for (int32_t i = 0; i < requests; i++)
        for (int32_t k = 0; q[i].kind != SCORE_TEXT && k < q[i].spans && !status; k++)
            if (!q[i].span[k].why) status = score_run_begin(run, &q[i].span[k], e);
    while (!status && run->jobs)
        status = score_run_step(run, e);
    run->shared = NULL; /* the requests may go */
    return status;
}
