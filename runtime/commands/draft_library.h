/* SPDX-License-Identifier: MIT
** The draft's model: a shared library (strata build --emit shared) and its weights.
*/
#ifndef STRATA_DRAFT_LIBRARY_H
#define STRATA_DRAFT_LIBRARY_H

#include "standalone.h"

typedef struct DraftLibrary {
    void *handle;
    strata_api api;
    Session session;
} DraftLibrary;

/* --draft with --draft-weights, on the threads of 's'; both models must have the same vocabulary,
** of which 't' is the tokenizer.  To be closed, after errors too. */
int draft_library_open(DraftLibrary *x, const Program *p, const Session *s, const Tokenizer *t,
                       Error *e);
void draft_library_close(DraftLibrary *x); /* harmless on {0} */

#endif
