/* SPDX-License-Identifier: MIT
** Shared by generate and chat: options of the command line become the settings of a sequence
** (generator.h), and its text is written to standard output as it is generated.
*/
#ifndef STRATA_WRITING_H
#define STRATA_WRITING_H

#include "draft_library.h"
#include "generator.h"
#include "standalone.h"

enum { LONGEST_TOKEN = 128 }; /* bytes: few tokens stand for more */

typedef struct TokenWriter {
    const Tokenizer *tokenizer;
    SequenceSettings how;
    bool own[SAMPLINGS]; /* of the sampler's numbers: the checkpoint's */
    DraftLibrary library;
    Generator *generator;
    Sequence *sequence;
    char last;                       /* byte of the answer that was written; 0: none */
    bool closed;                     /* nobody reads what is written */
    const volatile int *interrupted; /* ends an answer; looked at between tokens; NULL: nothing */
} TokenWriter;

/* x->how by the command line, to which the caller may add. */
void writing_settings(TokenWriter *x, const Program *p, const Tokenizer *t, const char *command);
/* An empty sequence; p->m->context tokens at most.  To be closed, after errors too. */
int writing_open(TokenWriter *x, const Program *p, Session *s, Error *e);
/* Adds a line of what the sampler has from the checkpoint; nothing where that is nothing. */
void writing_tell(const TokenWriter *x, Text *t);
/* "draft: 41 of 63 proposed tokens held" on standard error; nothing without a draft. */
void writing_tell_draft(const TokenWriter *x);
void writing_close(TokenWriter *x); /* harmless on {0} */

/* Reads ids, behind what was drawn last.  The caller has looked that they fit, unless it slides. */
int writing_read(TokenWriter *x, const int32_t *ids, int64_t count, Error *e);
/* Draws and shows 'count' tokens at most. */
int writing_answer(TokenWriter *x, int64_t count, Error *e);
/* Shows what an incomplete character leaves, and ends the line: on a terminal always, else of an
** answer that did not. */
int writing_end(TokenWriter *x, Error *e);

#endif
