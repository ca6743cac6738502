/* SPDX-License-Identifier: MIT
** Speculative decoding (arXiv 2211.17192): a smaller model of the same vocabulary proposes tokens,
** and the model checks them in one call, at nearly the cost of one token.  A proposal is accepted
** if it is the token that would be drawn anyway, by the same logits, seed and position: the text
** is the same as without a draft, at any temperature.
*/
#ifndef STRATA_DRAFT_H
#define STRATA_DRAFT_H

#include "sample.h"
#include "session.h"

typedef struct Draft Draft;

/* 'proposer' is the model that proposes, for sequences of 's' in 'state', of 'length' tokens at
** most; all of them stay. To be closed, after errors too. */
int draft_open(Draft **out, Session *proposer, Session *s, const Region *state, int64_t length,
               Error *e);
void draft_close(Draft *d); /* harmless on NULL */
int draft_reset(Draft *d, Error *e);

/* Appends a prompt; logits [V] of the last token. */
int draft_read(Draft *d, const int32_t *ids, int64_t count, float *logits, Error *e);
/* Appends a token; the logits behind it, at 'position' of the sequence.  Proposals are drawn by the
** sampler that draws the sequence's tokens, which stays as it is. */
int draft_next(Draft *d, int32_t id, Sampler *sampler, int64_t position, float *logits, Error *e);

/* Proposals so far, and those of them that held. */
void draft_counts(const Draft *d, int64_t *proposed, int64_t *held);

#endif
