/* SPDX-License-Identifier: MIT
** Pre-tokenizers of tokenizer.json: where a text is cut before words are merged.  Steps follow
** each other; each passes its parts on to the next.
*/
#ifndef STRATA_SPLIT_H
#define STRATA_SPLIT_H

#include "pattern.h"

/* What becomes of a part that matches; the other parts stand between them. */
typedef enum SplitBehavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_CONTIGUOUS, /* matches that touch are one part */
    SPLIT_PREVIOUS,   /* with the part before */
    SPLIT_NEXT        /* with the part behind */
} SplitBehavior;

typedef enum SplitKind {
    SPLIT_PATTERN,
    SPLIT_TEXT,        /* 'text' */
    SPLIT_NUMBERS,     /* characters that are numbers; */
    SPLIT_SPACES,      /* white space; */
    SPLIT_PUNCTUATION, /* punctuation */
    SPLIT_WORDS,       /* runs of word characters, and of what is neither word nor space */
    SPLIT_SCANNED,     /* by a scanner of scanner.h, instead of the pattern it knows */
    SPLIT_METASPACE,   /* 'text' for each space, before a text too; parts begin with it */
    SPLIT_SPACE_FIRST  /* a space before each text that has none there */
} SplitKind;

typedef enum SplitPrepend { SPLIT_ALWAYS, SPLIT_FIRST, SPLIT_NEVER } SplitPrepend;

typedef struct SplitStep {
    SplitKind kind;
    SplitBehavior behavior;
    bool invert; /* what does not match is the match */
    char *text;  /* owned */
    Pattern pattern;
    int scanner;
    SplitPrepend prepend; /* METASPACE */
    bool splits;          /* METASPACE: parts are made at all */
} SplitStep;

enum { SPLIT_STEPS = 16 };

typedef struct Splitter {
    SplitStep step[SPLIT_STEPS];
    int count;
} Splitter;

/* A call of split: memory, and who gets the parts. */
typedef struct SplitWork {
    Text text[SPLIT_STEPS];
    void *memory[SPLIT_STEPS];
    int (*word)(void *user, const char *text, size_t length, Error *e);
    void *user;
    const PatternPlace *place;
} SplitWork;

/* 'first': the text is the beginning of all. */
int split(const Splitter *x, SplitWork *w, const char *text, size_t length, bool first, Error *e);
void split_done(SplitWork *w);
void splitter_free(Splitter *x);

#endif
