/* SPDX-License-Identifier: MIT
** Stop strings of a text that arrives in pieces.  The end of what has arrived may be the beginning
** of a stop string: it is held back until it matches, or cannot match any more.
*/
#ifndef STRATA_TEXT_STOPS_H
#define STRATA_TEXT_STOPS_H

#include <stdbool.h>

#include "json.h"

typedef struct TextStops {
    const char *const *stop; /* not empty */
    size_t stops;
    bool stopped; /* one came: nothing is given any more */
    Text held;
    Text out; /* what the last piece gave */
} TextStops;

/* 'out' becomes what is sure to be before a stop; 'end': there are no more pieces.  Whether there
** was memory, the texts' 'failed' say. */
void text_stops_take(TextStops *x, const char *text, size_t length, bool end);
void text_stops_reset(TextStops *x); /* another text begins */
void text_stops_free(TextStops *x);

#endif
