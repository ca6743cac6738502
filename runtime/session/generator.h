/* SPDX-License-Identifier: MIT
** Sequences of one model that are written at the same time.  Each has a slot; a step gives each of
** them its next token, by one call of the model for all.  A sequence can come before any step and
** leave after any, and its slot is free for another.  What a sequence becomes depends on its own
** settings and tokens only, not on those beside it.
**   generator_open    with as many slots as sequences are to be written at once
**   generator_add     a sequence with its settings
**   sequence_read     its prompt; sequence_start: how many tokens the answer may have
**   generator_step    until x->phase is no longer SEQUENCE_WRITES; x->text is what the step gave
**   sequence_finish   the rest of the text; sequence_close: the slot is free
** A generator and its sequences are one thread's at a time, and so is the session: several
** generators of one session take turns.
*/
#ifndef STRATA_GENERATOR_H
#define STRATA_GENERATOR_H

#include "sequence.h"

typedef struct Generator Generator;

/* Of a session with weights; 'length': tokens that a sequence has at most, itself at most the
** model's context.  't' may be NULL: no text.  *out is NULL after an error. */
int generator_open(Generator **out, Session *s, const Tokenizer *t, int32_t slots, int64_t length,
                   Error *e);
void generator_close(Generator *g); /* with its sequences; harmless on NULL */

/* Bytes that a slot takes, by which callers choose how many they open. */
uint64_t generator_slot_bytes(const Session *s, int64_t length);
int32_t generator_room(const Generator *g); /* slots that are free */

/* A sequence in a free slot; an error if there is none. */
int generator_add(Generator *g, Sequence **out, const SequenceSettings *how, Error *e);

/* One more token of every sequence that writes.  If something fails, it is the first error, of a
** sequence whose phase is then SEQUENCE_FAILED; others go on. */
int generator_step(Generator *g, Error *e);
/* The step's first half: the model reads the last token of each, so that their slots' logits are
** those of the next one.  For sequences whose tokens the caller names. */
int generator_advance(Generator *g, Error *e);

#endif
