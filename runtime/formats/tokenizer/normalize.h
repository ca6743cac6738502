/* SPDX-License-Identifier: MIT
** Normalizers of tokenizer.json: texts that become others before they are taken apart. */
#ifndef STRATA_NORMALIZE_H
#define STRATA_NORMALIZE_H

#include "charsmap.h"
#include "pattern.h"

typedef enum NormalizeKind {
    NORMALIZE_NFC,
    NORMALIZE_NFD,
    NORMALIZE_NFKC,
    NORMALIZE_NFKD,
    NORMALIZE_LOWERCASE,
    NORMALIZE_PREPEND, /* 'with' before a text that is not empty */
    NORMALIZE_REPLACE, /* each 'from', or match of the pattern, by 'with' */
    NORMALIZE_STRIP,
    NORMALIZE_PRECOMPILED /* by 'map' */
} NormalizeKind;

typedef struct NormalizeStep {
    NormalizeKind kind;
    char *from, *with; /* owned */
    Pattern pattern;   /* instead of 'from' */
    bool left, right;  /* STRIP */
    Charsmap map;
} NormalizeStep;

enum { NORMALIZE_STEPS = 32 };

typedef struct Normalizer {
    NormalizeStep step[NORMALIZE_STEPS];
    int count;
} Normalizer;

/* Characters, as code points. */
typedef struct CodePoints {
    int32_t *at;
    size_t count, room;
} CodePoints;

/* Memory for texts on their way; starts as {0}. */
typedef struct NormalizeWork {
    Text text[2];
    CodePoints points, sorted; /* unicode_form's */
    void *memory;              /* pattern_next's */
    const char *at;            /* where a pattern was looked for last */
} NormalizeWork;

/* *text and *length become the normalized text, which is in 'w' if it is another. */
int normalize(const Normalizer *x, NormalizeWork *w, const PatternPlace *place, const char **text,
              size_t *length, Error *e);
void normalize_done(NormalizeWork *w);
void normalizer_free(Normalizer *x);

#endif
