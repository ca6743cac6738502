/* SPDX-License-Identifier: MIT
** SentencePiece's normalization as its models hold it: a double array of the texts that are
** replaced (as the library Darts lays it out), and what replaces them.
*/
#ifndef STRATA_CHARSMAP_H
#define STRATA_CHARSMAP_H

#include "json.h"

typedef struct Charsmap {
    uint32_t *unit; /* NULL: nothing is replaced */
    size_t units;
    char *text; /* NUL after each */
    size_t length;
    bool dummy_prefix; /* a space before a text; 'suffix': behind it */
    bool squeeze;      /* spaces at both ends go, and all but one of several */
    bool escape;       /* spaces become marks */
    bool suffix;
} Charsmap;

enum { CHARSMAP_LONGEST = 256 }; /* bytes that replace one text */

/* The precompiled map of a model; empty: nothing is replaced. */
int charsmap_read(Charsmap *x, const char *bytes, size_t length, const char *what, Error *e);
void charsmap_free(Charsmap *x);
/* The longest text at the beginning of this one that is replaced: its bytes, and *with; 0: none. */
size_t charsmap_find(const Charsmap *x, const char *text, size_t length, const char **with);
/* The same of the shortest. */
size_t charsmap_first(const Charsmap *x, const char *text, size_t length, const char **with);

#endif
