/* SPDX-License-Identifier: MIT
** Text id by id for programs that embed models (strata.h), which may end at texts of the caller:
** what may be the beginning of one is held back until it is one, or is none.
*/
#include "strata.h"

#include <stdlib.h>
#include <string.h>

#include "library.h"

struct strata_decoder {
    const Tokenizer *t;
    Decoder d;
    char **stop;
    size_t stops;
    bool stopped;
    Text held, out; /* may be a stop's beginning; what the last call gave, where there are stops */
};

strata_decoder *strata_decoder_new(const strata_tokenizer *t, uint32_t flags) {
    strata_decoder *x = t ? calloc(1, sizeof *x) : NULL;
    if (!x) return NULL;
    x->t = &t->t;
    x->d.specials = flags & STRATA_SPECIALS;
    x->d.begun = flags & STRATA_CONTINUES;
    return x;
}

void strata_decoder_free(strata_decoder *d) {
    if (!d) return;
    for (size_t i = 0; i < d->stops; i++)
        free(d->stop[i]);
    free(d->stop);
    text_free(&d->held);
    text_free(&d->out);
    decoder_free(&d->d);
    free(d);
}

/* == Ends ================================================================= */

int32_t strata_decoder_stop(strata_decoder *d, const char *stop) {
    char *copy = d && stop && *stop ? strdup(stop) : NULL;
    char **more = copy ? realloc(d->stop, (d->stops + 1) * sizeof *more) : NULL;
    if (!more) {
        free(copy);
        return STATUS_USER;
    }
    d->stop = more;
    d->stop[d->stops++] = copy;
    return STATUS_OK;
}

int32_t strata_decoder_stopped(const strata_decoder *d) { return d && d->stopped; }

/* Bytes of the text before the first stop; all of them if there is none. */
static size_t before_stops(const strata_decoder *d, const char *text, size_t length) {
    size_t first = length;
    for (size_t i = 0; i < d->stops; i++) {
        const char *at = memmem(text, length, d->stop[i], strlen(d->stop[i]));
        if (at && (size_t)(at - text) < first) first = (size_t)(at - text);
    }
    return first;
}

/* Bytes at the text's end that are the beginning of a stop. */
static size_t may_stop(const strata_decoder *d, const char *text, size_t length) {
    size_t most = 0;
    for (size_t i = 0; i < d->stops; i++)
        for (size_t n = strlen(d->stop[i]) - 1; n > most; n--)
            if (n <= length && !memcmp(text + length - n, d->stop[i], n)) most = n;
    return most;
}

/* Puts into 'out' what of the text held is sure to be before a stop; at its end, all of it. */
static void let_go(strata_decoder *d, bool end) {
    Text *h = &d->held;
    size_t n = before_stops(d, h->at, h->length);
    d->stopped = n < h->length;
    if (!d->stopped && !end) n -= may_stop(d, h->at, h->length);
    text_bytes(&d->out, h->at, n);
    h->length = d->stopped ? 0 : h->length - n;
    memmove(h->at, h->at + n, h->length);
}

/* A decoder without memory gives no text, and goes on when there is some. */
static const char *text_of(strata_decoder *d, int status, bool end, size_t *length) {
    const Text *now = &d->d.text;
    if (!status && d->stops) {
        d->out.length = 0;
        text_bytes(&d->out, "", 0);
        text_bytes(&d->held, now->at, now->length);
        now = &d->out;
        if (!d->held.failed && !d->stopped) let_go(d, end);
        status = text_status(&d->held, NULL) || text_status(&d->out, NULL);
    }
    if (length) *length = status ? 0 : now->length;
    return status ? NULL : now->at;
}

/* == Id by id ============================================================= */

const char *strata_decoder_push(strata_decoder *d, int32_t id, size_t *length) {
    return d ? text_of(d, decoder_push(&d->d, d->t, id, NULL), false, length) : NULL;
}

const char *strata_decoder_end(strata_decoder *d, size_t *length) {
    if (!d) return NULL;
    const char *text = text_of(d, decoder_end(&d->d, d->t, NULL), true, length);
    d->stopped = false;
    d->held.length = 0;
    return text;
}
