/* SPDX-License-Identifier: MIT
** Data as tokens: parts, reading, windows of evaluation; see data.h. */
#include "data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void data_free(Data *d) {
    DataTokens *t = d->tokens;
    for (int i = 0; d->owner && t && i < t->stores; i++)
        token_store_free(&t->store[i]);
    if (d->owner && t) free(t->store), free(t->segment), free(t);
    data_files_free(&d->files);
    free(d->source);
    *d = (Data){ 0 };
}

int64_t data_count(const Data *d) {
    int64_t count = 0;
    for (int i = 0; i < d->sources; i++)
        count += d->source[i].count;
    return count;
}

/* == Parts ================================================================ */

static int data_part(const Data *d, Data *x, Error *e) {
    size_t bytes = (size_t)d->sources * sizeof *d->source;
    *x = (Data){ .sources = d->sources, .tokens = d->tokens, .vocab = d->vocab };
    x->source = malloc(bytes);
    if (!x->source) return error_memory(e, "data", bytes);
    memcpy(x->source, d->source, bytes);
    return STATUS_OK;
}

static void data_divide(DataSource *train, DataSource *val, double share) {
    int64_t last = (int64_t)floor(share * (double)train->count), first = train->count - last;
    train->count = first;
    val->count = last;
    val->first += first;
    if (last) train->bytes = 0;
    val->bytes = 0;
}

int data_split(const Data *d, double share, Data *train, Data *val, Error *e) {
    *train = *val = (Data){ 0 };
    if (!(share >= 0 && share < 1)) {
        char number[32];
        return error_set(e, STATUS_USER,
                         "--val-share: expected a share from 0 to less than 1, found %s",
                         print_double(number, share));
    }
    int status = data_part(d, train, e);
    if (!status) status = data_part(d, val, e);
    for (int i = 0; !status && i < d->sources; i++)
        data_divide(&train->source[i], &val->source[i], share);
    if (status) data_free(train), data_free(val);
    return status;
}

int data_enough(const Data *d, const char *what, int64_t length, Error *e) {
    for (int i = 0; i < d->sources; i++) {
        const DataSource *s = &d->source[i];
        if (s->count > length) continue;
        return error_set(e, STATUS_USER,
                         "%s%s%s: expected at least %lld tokens (a window and its last target), "
                         "found %lld",
                         what, d->sources > 1 ? ": " : "", d->sources > 1 ? s->name : "",
                         (long long)length + 1, (long long)s->count);
    }
    return STATUS_OK;
}

/* == Reading ============================================================== */

/* The segment with token 'at' of the source. */
static const DataSegment *data_find(const Data *d, const DataSource *s, int64_t at) {
    const DataSegment *segment = d->tokens->segment + s->segment;
    int low = 0, high = s->segments;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (segment[middle].begin <= at) low = middle;
        else high = middle;
    }
    return &segment[low];
}

/* A file that is opened may close the one that was opened DATA_OPEN files before. */
static void note_open(DataTokens *t, int store, bool was_open) {
    if (was_open || !token_store_is_open(&t->store[store])) return;
    int *place = &t->open[t->turn++ % DATA_OPEN];
    if (*place && *place != store) token_store_rest(&t->store[*place]);
    *place = store;
}

int data_read(const Data *d, int source, int64_t first, int64_t n, int32_t *out, Error *e) {
    const DataSource *s = &d->source[source];
    DataTokens *t = d->tokens;
    const DataSegment *end = t->segment + s->segment + s->segments;
    int status = STATUS_OK;
    for (int64_t now; !status && n > 0; first += now, out += now, n -= now) {
        int64_t at = s->first + first;
        const DataSegment *g = data_find(d, s, at);
        now = g + 1 < end && g[1].begin - at < n ? g[1].begin - at : n;
        bool was_open = token_store_is_open(&t->store[g->store]);
        status = token_store_read(&t->store[g->store], g->at + at - g->begin, now, d->vocab, out,
                                  e);
        note_open(t, g->store, was_open);
    }
    return status;
}

int data_measure(Data *d, int source, const Tokenizer *t, Error *e) {
    enum { PIECE = 4096 };
    DataSource *s = &d->source[source];
    int32_t ids[PIECE];
    const char *text;
    Decoder decoder = { 0 };
    if (s->bytes || !t->kind) return STATUS_OK;
    for (int64_t at = 1, now; at < s->count; at += now) {
        now = s->count - at < PIECE ? s->count - at : PIECE;
        int status = data_read(d, source, at, now, ids, e);
        if (status) return status;
        for (int64_t i = 0; i < now; i++) {
            int bytes = t->kind->decode(t, ids[i], &decoder, &text);
            s->bytes += bytes > 0 ? bytes : 0;
        }
    }
    return STATUS_OK;
}

/* == Evaluation =========================================================== */

int64_t data_windows(const Data *d, int source, int64_t length) {
    int64_t count = d->source[source].count;
    return count < 2 ? 0 : (count - 2) / length + 1;
}

int data_window(const Data *d, int source, int64_t length, int64_t i, int32_t *tokens,
                int32_t *targets, int64_t *n, Error *e) {
    int64_t start = i * length, left = d->source[source].count - 1 - start;
    *n = left < length ? left : length;
    int status = data_read(d, source, start, *n, tokens, e);
    if (status) return status;
    memcpy(targets, tokens + 1, (size_t)(*n - 1) * sizeof *targets);
    return data_read(d, source, start + *n, 1, targets + *n - 1, e);
}
