/* SPDX-License-Identifier: MIT
** See text_stops.h. */
#include "text_stops.h"

#include <string.h>

/* Bytes of the text before the first stop; all of them if there is none. */
static size_t before_stops(const TextStops *x, const char *text, size_t length) {
    size_t first = length;
    for (size_t i = 0; i < x->stops; i++) {
        const char *at = memmem(text, length, x->stop[i], strlen(x->stop[i]));
        if (at && (size_t)(at - text) < first) first = (size_t)(at - text);
    }
    return first;
}

/* Bytes at the text's end that are the beginning of a stop. */
static size_t may_stop(const TextStops *x, const char *text, size_t length) {
    size_t most = 0;
    for (size_t i = 0; i < x->stops; i++)
        for (size_t n = strlen(x->stop[i]) - 1; n > most; n--)
            if (n <= length && !memcmp(text + length - n, x->stop[i], n)) most = n;
    return most;
}

void text_stops_take(TextStops *x, const char *text, size_t length, bool end) {
    Text *h = &x->held;
    x->out.length = 0;
    text_bytes(&x->out, "", 0);
    text_bytes(h, text ? text : "", length);
    if (h->failed || x->stopped) return;
    size_t n = before_stops(x, h->at, h->length);
    x->stopped = n < h->length;
    if (!x->stopped && !end) n -= may_stop(x, h->at, h->length);
    text_bytes(&x->out, h->at, n);
    h->length = x->stopped ? 0 : h->length - n;
    memmove(h->at, h->at + n, h->length);
}

void text_stops_reset(TextStops *x) {
    x->stopped = false;
    x->held.length = x->out.length = 0;
}

void text_stops_free(TextStops *x) {
    text_free(&x->held);
    text_free(&x->out);
}
