/* SPDX-License-Identifier: MIT
** Text id by id for programs that embed models (strata.h), which may end at texts of the caller:
** what may be the beginning of one is held back until it is one, or is none.
*/
#include "strata.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"
#include "text_stops.h"

struct strata_decoder {
    const Tokenizer *t;
    Decoder d;
    char **stop; /* copies, stops.stop's */
    TextStops stops;
};

strata_decoder *strata_decoder_new(const strata_tokenizer *t, uint32_t flags) {
    if (!t || flags & ~(uint32_t)(STRATA_SPECIALS | STRATA_CONTINUES)) {
        errno = EINVAL;
        return NULL;
    }
    strata_decoder *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->t = &t->t;
    x->d.specials = flags & STRATA_SPECIALS;
    x->d.begun = flags & STRATA_CONTINUES;
    return x;
}

void strata_decoder_free(strata_decoder *d) {
    if (!d) return;
    for (size_t i = 0; i < d->stops.stops; i++)
        free(d->stop[i]);
    free(d->stop);
    text_stops_free(&d->stops);
    decoder_free(&d->d);
    free(d);
}

/* == Ends ================================================================= */

int32_t strata_decoder_stop(strata_decoder *d, const char *stop) {
    char *copy = d && stop && *stop ? strdup(stop) : NULL;
    char **more = copy ? realloc(d->stop, (d->stops.stops + 1) * sizeof *more) : NULL;
    if (!more) {
        free(copy);
        return STATUS_USER;
    }
    d->stop = more;
    d->stop[d->stops.stops++] = copy;
    d->stops.stop = (const char *const *)more;
    return STATUS_OK;
}

int32_t strata_decoder_stopped(const strata_decoder *d) { return d && d->stops.stopped; }

/* A decoder without memory gives no text, and goes on when there is some. */
static const char *decoder_text_of(strata_decoder *d, int status, bool end, size_t *length) {
    const Text *now = &d->d.text;
    if (!status && d->stops.stops) {
        text_stops_take(&d->stops, now->at, now->length, end);
        now = &d->stops.out;
        status = text_status(&d->stops.held, NULL) || text_status(now, NULL);
    }
    if (length) *length = status ? 0 : now->length;
    return status ? NULL : now->at;
}

/* == Id by id ============================================================= */

const char *strata_decoder_push(strata_decoder *d, int32_t id, size_t *length) {
    if (!d || id < 0 || id >= d->t->ids) {
        if (length) *length = 0;
        errno = EINVAL;
        return NULL;
    }
    return decoder_text_of(d, decoder_push(&d->d, d->t, id, NULL), false, length);
}

const char *strata_decoder_end(strata_decoder *d, size_t *length) {
    if (!d) return NULL;
    const char *text = decoder_text_of(d, decoder_end(&d->d, d->t, NULL), true, length);
    d->stops.stopped = false;
    d->stops.held.length = 0;
    return text;
}
