/* SPDX-License-Identifier: MIT
** A sequence of tokens that a model writes: what it has read, how its next token is drawn, what
** ends an answer, and the answer's text.  It works in a slot (generator.h), beside others.
*/
#ifndef STRATA_SEQUENCE_H
#define STRATA_SEQUENCE_H

#include "draft.h"
#include "sample.h"
#include "session.h"
#include "text_stops.h"
#include "tokenizer.h"

typedef struct SequenceSettings {
    const char *name; /* who asks for the sequence, for messages */
    bool told; /* the caller names its tokens (sequence_append); the next members are unused */
    Sampling sampling;
    /* What ends an answer, beside the ends that the tokenizer knows: tokens and texts, which are
    ** not part of it, and a byte of it (0: none).  No text is empty; one that spells a special
    ** token is that token, too. */
    const int32_t *token;
    size_t tokens;
    const char *const *stop;
    size_t stops;
    char stop_byte;
    bool slide;     /* a full slot drops its older half and goes on; else a full one is an error */
    Session *draft; /* of the model that proposes tokens; NULL: none */
} SequenceSettings;

/* What outlives a sequence: the memory in which the next one works. */
typedef struct SequenceSlot {
    Session *s;
    const Tokenizer *tokenizer; /* NULL: sequences have no text */
    int64_t length;             /* tokens that there is room for */
    Region state;
    float *logits; /* [V], of the token behind the sequence */
    bool used;     /* the state is not empty */
} SequenceSlot;

typedef enum SequencePhase {
    SEQUENCE_WAITS,  /* nobody has asked for an answer */
    SEQUENCE_WRITES, /* it gets a token in each step; a told one always does */
    /* the answer ended, since */
    SEQUENCE_LENGTH, /* it has as many tokens as were asked for */
    SEQUENCE_TOKEN,  /* a token came that ends it */
    SEQUENCE_TEXT,   /* a text or a byte came that ends it */
    SEQUENCE_FAILED  /* there was an error: it can be made empty, or closed */
} SequencePhase;

typedef struct Sequence {
    SequenceSlot *slot; /* NULL: there is no sequence */
    SequenceSettings how;
    SequencePhase phase;
    const Text *text; /* what the last step or sequence_finish gave: whole characters, or nothing */
    int32_t unread;   /* the last token, if the model has not read it yet; -1: there is none */
    int64_t position; /* tokens that the model has read */
    int64_t left;     /* tokens that the answer may still get */
    Sampler sampler;
    Decoder decoder;
    TextStops stops;
    int32_t *token; /* that end an answer, 'tokens' of them */
    size_t tokens;
    int32_t *ids; /* [slot->length] where it slides: those of its tokens that the state has */
    int64_t held; /* how many those are */
    Draft *draft; /* NULL: none */
} Sequence;

/* An empty sequence; what settings point to stays while the sequence is open.  To be closed, after
** errors too, which makes the slot free for another. */
int sequence_open(Sequence *x, SequenceSlot *slot, const SequenceSettings *how, Error *e);
void sequence_close(Sequence *x);                         /* harmless on {0} */
int sequence_reset(Sequence *x, uint64_t seed, Error *e); /* it is empty again */
/* An empty x becomes what 'from' is.  Neither slides or has a draft, and x has no penalty: these
** need to know all tokens. */
int sequence_copy(Sequence *x, const Sequence *from, Error *e);

/* Reads tokens behind those that are there: a prompt, or what follows an answer.  Too many or none
** are an error that leaves the sequence as it was. */
int sequence_read(Sequence *x, const int32_t *ids, int64_t count, Error *e);
/* An answer begins with the next step, of 'most' tokens at most, and no more than the slot has room
** for, unless it slides. */
void sequence_start(Sequence *x, int64_t most);
/* The next token of a sequence that is told, which the model reads in the next step. */
void sequence_append(Sequence *x, int32_t id);
/* The answer gets no more tokens: x->text is what an incomplete character leaves, and what was held
** back as the beginning of a text that ends answers. */
int sequence_finish(Sequence *x, Error *e);

/* Tokens of the sequence, the last one included. */
static inline int64_t sequence_tokens(const Sequence *x) { return x->position + (x->unread >= 0); }

/* == For generator.c: the two halves of a step ============================ */

/* The last token becomes one that was read.  *left: that token if the model has yet to read it,
** with those of other sequences; -1: there is nothing left to do. */
int sequence_advance(Sequence *x, int32_t *left, Error *e);
/* Draws the next token by the slot's logits, of a sequence that writes; of others x->text becomes
** empty. */
int sequence_draw(Sequence *x, Error *e);

#endif
