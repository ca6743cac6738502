/* SPDX-License-Identifier: MIT
** A smaller model of the same vocabulary proposes tokens, which the model looks at in one call, at
** nearly the cost of one token's (speculative decoding, arXiv 2211.17192).  A proposal holds if it
** is the token that is drawn anyway, by the same logits, seed and position: the text is the one
** without a draft, at any temperature.
*/
#ifndef STRATA_DRAFT_H
#define STRATA_DRAFT_H

#include "sample.h"
#include "standalone.h"

typedef struct Draft Draft;

/* What is drawn of a model's logits behind 'proposed', tokens of the sequence that the caller has
** not drawn himself; -1: they are not finite. */
typedef int32_t (*draft_draw_fn)(void *user, const float *logits, const int32_t *proposed,
                                 int64_t count);

/* --draft and --draft-weights, for sequences of 's' in 'state'; 't' is what its tokens are ids of.
** *out stays NULL where the command line has no draft. */
int draft_open(Draft **out, const Program *p, Session *s, const Region *state, const Tokenizer *t,
               Error *e);
void draft_close(Draft *d); /* harmless on NULL */
int draft_reset(Draft *d, Error *e);

/* Appends a prompt; logits [V] of the last token. */
int draft_read(Draft *d, const int32_t *ids, int64_t count, float *logits, Error *e);
/* Appends a token; the logits behind it. */
int draft_next(Draft *d, int32_t id, draft_draw_fn draw, void *user, float *logits, Error *e);

/* "draft: 41 of 63 tokens held ..." on standard error. */
void draft_tell(const Draft *d);

#endif
