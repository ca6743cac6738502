/* SPDX-License-Identifier: MIT
** Scores whole texts in consecutive windows, several at once; the last window begins earlier, so
** that it is full.  Shorter texts are padded behind their end, where no earlier token sees it.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "score.h"

enum { TOKENS = 4096 }; /* at once, about */

typedef struct ScoreWindow {
    ScoreSpan *span;
    int64_t first, length; /* tokens that it reads; it predicts as many, one further */
    int64_t skip;          /* of these, the first that another window predicts */
} ScoreWindow;

typedef struct TextBatch {
    Session *s;
    int64_t most;        /* tokens of a window */
    ScoreWindow *window; /* [TOKENS], of the largest batch */
    int32_t *tokens, *targets;
    float *nll; /* [room] */
    int64_t room, count, longest, shortest;
} TextBatch;

static int open_batch(TextBatch *b, Error *e) {
    b->room = b->most > TOKENS ? b->most : TOKENS;
    b->window = malloc(TOKENS * sizeof *b->window);
    b->tokens = malloc((size_t)b->room * sizeof *b->tokens);
    b->targets = malloc((size_t)b->room * sizeof *b->targets);
    b->nll = malloc((size_t)b->room * sizeof *b->nll);
    if (b->window && b->tokens && b->targets && b->nll) return STATUS_OK;
    return error_memory(e, "windows", (size_t)b->room * 12);
}

static void close_batch(TextBatch *b) {
    free(b->window);
    free(b->tokens);
    free(b->targets);
    free(b->nll);
}

static void fill_row(TextBatch *b, int64_t row) {
    const ScoreWindow *w = &b->window[row];
    size_t bytes = (size_t)w->length * sizeof *b->tokens;
    size_t rest = (size_t)(b->longest - w->length) * sizeof *b->tokens;
    const int32_t *from = w->span->ids + w->first;
    int32_t *tokens = b->tokens + row * b->longest, *targets = b->targets + row * b->longest;
    memcpy(tokens, from, bytes);
    memcpy(targets, from + 1, bytes);
    memset(tokens + w->length, 0, rest);
    memset(targets + w->length, 0, rest);
}

static int texts_flush(TextBatch *b, Error *e) {
    Session *s = b->s;
    strata_loss loss = { .struct_size = sizeof loss };
    if (!b->count) return STATUS_OK;
    for (int64_t i = 0; i < b->count; i++)
        fill_row(b, i);
    int status = session_arena(s, b->count * b->longest, false, e);
    if (!status)
        status = session_check(s,
                               s->api->loss(s->ctx.at, s->weights.at, s->arena.at, b->tokens,
                                            b->targets, b->count, b->longest, b->nll, &loss),
                               "loss", e);
    for (int64_t i = 0; i < b->count && !status; i++)
        for (int64_t t = b->window[i].skip; t < b->window[i].length; t++)
            b->window[i].span->nll += b->nll[i * b->longest + t];
    b->count = 0;
    return status;
}

/* Into the batch, or the next one where it would grow too large, or be filled up by more than it
** holds. */
static int add_window(TextBatch *b, ScoreWindow w, Error *e) {
    int64_t length = w.length;
    int64_t longest = b->count && b->longest > length ? b->longest : length;
    int64_t shortest = b->count && b->shortest < length ? b->shortest : length;
    if (b->count && ((b->count + 1) * longest > b->room || shortest * 2 < longest)) {
        int status = texts_flush(b, e);
        if (status) return status;
        longest = shortest = length;
    }
    b->window[b->count++] = w;
    b->longest = longest;
    b->shortest = shortest;
    return STATUS_OK;
}

static int texts_add_text(TextBatch *b, ScoreSpan *x, Error *e) {
    int status = STATUS_OK;
    for (int64_t first = 0, n; first < x->count && !status; first += n) {
        n = x->count - first < b->most ? x->count - first : b->most;
        int64_t skip = first < b->most - n ? first : b->most - n;
        status = add_window(b, (ScoreWindow){ x, first - skip, n + skip, skip }, e);
    }
    return status;
}

int score_texts(Session *s, ScoreRequest *q, int32_t requests, Error *e) {
    TextBatch b = { .s = s, .most = s->m->context };
    int status = open_batch(&b, e);
    for (int32_t i = 0; i < requests && !status; i++)
        if (q[i].kind == SCORE_TEXT && !q[i].span->why) status = texts_add_text(&b, q[i].span, e);
    if (!status) status = texts_flush(&b, e);
    close_batch(&b);
    for (int32_t i = 0; i < requests && !status; i++)
        if (q[i].kind == SCORE_TEXT && !isfinite(q[i].span->nll))
            status = error_set(e, STATUS_USER,
                               "score: expected finite losses; the weights are not usable");
    return status;
}
