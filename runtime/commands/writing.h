/* SPDX-License-Identifier: MIT
** Text written token by token: what generate and chat share.  A sequence grows by what it is given
** to read and by what is drawn; nothing is read twice.
*/
#ifndef STRATA_WRITING_H
#define STRATA_WRITING_H

#include "draft.h"
#include "draft_library.h"
#include "sample.h"
#include "standalone.h"
#include "text_stops.h"

enum { LONGEST_TOKEN = 128 }; /* bytes: few tokens stand for more */

typedef struct TokenWriter {
    Session *s;
    const char *command; /* for messages */
    const Tokenizer *tokenizer;
    Region state;
    Sampler sampler;
    bool own[SAMPLINGS]; /* of the sampler's numbers: the checkpoint's */
    Decoder decoder;
    float *logits;    /* [V], of the token behind the sequence */
    int64_t position; /* tokens of the sequence */
    int32_t *ids;     /* [context] with --slide: those of them that the state has; else NULL */
    int64_t held;     /* how many those are */
    DraftLibrary library;
    Draft *draft;   /* NULL: none */
    int32_t unread; /* a token that was drawn and is not part of it yet; -1: none */
    char last;      /* byte of the answer that was written; 0: none */
    bool closed;    /* nobody reads what is written */
    /* what ends an answer beside the tokenizer's ends: texts, which are not written, and those of
    ** them that are tokens, an id (-1: none), a byte in the text (0: none), and a flag that is
    ** looked at between tokens (NULL: none) */
    TextStops stops;
    int32_t *token; /* 'tokens' of them */
    size_t tokens;
    int32_t stop;
    char stop_byte;
    const volatile int *interrupted;
} TokenWriter;

/* The options of the command line, and an empty sequence; p->m->context tokens at most. */
int writing_open(TokenWriter *x, const Program *p, Session *s, const Tokenizer *t,
                 const char *command, Error *e);
/* Adds a line of what the sampler has from the checkpoint; nothing where that is nothing. */
void writing_tell(const TokenWriter *x, Text *t);
/* "draft: 41 of 63 proposed tokens held" on standard error; nothing without a draft. */
void writing_tell_draft(const TokenWriter *x);
void writing_close(TokenWriter *x);          /* harmless on {0} */
int writing_reset(TokenWriter *x, Error *e); /* the sequence is empty again */

/* Reads ids, behind what was drawn last.  The caller has looked that they fit, unless it slides. */
int writing_read(TokenWriter *x, const int32_t *ids, int64_t count, Error *e);
/* Draws and shows 'count' tokens at most. */
int writing_answer(TokenWriter *x, int64_t count, Error *e);
/* Shows what an incomplete character leaves, and ends the line: on a terminal always, else of an
** answer that did not. */
int writing_end(TokenWriter *x, Error *e);

#endif
