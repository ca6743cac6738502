/* SPDX-License-Identifier: MIT
** The command score: log-likelihoods of continuations and of whole texts, as evaluation harnesses
** ask for them.
** A line of the file is {"context": C, "continuation": X}, X a text or a list of texts, or
** {"text": T}; other keys are not looked at.
**   continuation   White space at the end of C belongs to X.  The tokens of X are those of C + X
**                  without the first n, where n is the number of tokens of C alone.  If C + X is
**                  longer than the model's context, its first tokens are dropped.
**   text           Consecutive windows of the context's length.  Every token is predicted once, the
**                  first one from the prefix.  The last window begins earlier, so that it is full.
** If a line cannot be scored, an error stands in place of its number; the others are scored.
*/
#ifndef STRATA_SCORE_H
#define STRATA_SCORE_H

#include "jsonl.h"
#include "standalone.h"

/* Why something has no likelihood. */
typedef enum ScoreWhy {
    SCORE_DONE, /* it has one */
    SCORE_JOINED,
    SCORE_EMPTY,
    SCORE_LONG,
    SCORE_BARE,
    SCORE_NO_TEXT,
    SCORE_ONE_TOKEN
} ScoreWhy;

/* Tokens to be predicted, and those before them. */
typedef struct ScoreSpan {
    int32_t *ids;           /* [context + count] */
    int64_t context, count; /* at least 1 each */
    int64_t bytes;          /* of the text that 'count' tokens stand for */
    int64_t dropped;        /* tokens of the context that the model has no room for */
    double nll;             /* sum over 'count' tokens, nats */
    bool greedy;            /* each of them is the likeliest; of texts false */
    ScoreWhy why;           /* there are no ids */
    int64_t found;          /* SCORE_LONG: its tokens */
} ScoreSpan;

typedef enum ScoreKind { SCORE_TEXT, SCORE_ONE, SCORE_LIST } ScoreKind;

typedef struct ScoreRequest {
    int64_t line;
    ScoreKind kind;
    ScoreSpan *span; /* a text: one */
    int32_t spans;
} ScoreRequest;

typedef struct ScoreReader {
    const Program *p;
    const Tokenizer *tokenizer;
    int32_t prefix;  /* id in front of texts and in the place of empty contexts; -1: none */
    int64_t longest; /* tokens that a sequence of continuations has at most, of all read so far */
    int64_t encoded, unknown; /* tokens of the texts so far; of them, unknown characters */
    Jsonl lines;
    Json json;
} ScoreReader;

/* Why, in words. */
void score_why(const ScoreReader *r, const ScoreSpan *x, char to[128]);
/* The token that stands before texts and in the place of empty contexts unless the user says
** another: the one that begins texts, else the one that ends them; -1: there is none. */
int32_t score_default_prefix(const Tokenizer *t);

/* The next request; *more is false at the end. Errors begin with FILE:LINE. */
int score_next(ScoreReader *r, ScoreRequest *q, bool *more, Error *e);
void score_request_free(ScoreRequest *q);

/* Continuations that are computed at once, each with a state of its own. */
typedef struct ScoreRun ScoreRun;
/* 'longest': tokens of a sequence at most. NULL after an error. */
ScoreRun *score_run_open(Session *s, int64_t longest, Error *e);
void score_run_close(ScoreRun *run);
/* nll and greedy of all spans of all requests that are no texts. Consecutive ones with the same
** context share its computation. */
int score_continuations(ScoreRun *run, ScoreRequest *q, int32_t requests, Error *e);
/* nll of those that are. */
int score_texts(Session *s, ScoreRequest *q, int32_t requests, Error *e);

#endif
