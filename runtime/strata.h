/* SPDX-License-Identifier: MIT
** libstrata for programs: a thread pool for models (abi.h), their weights in files, tokenizers,
** sampling, and the standalone program around one model.  POSIX systems only.  A pool may serve
** any number of models and calling threads; concurrent calls take turns.
*/
#ifndef STRATA_H
#define STRATA_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strata_pool strata_pool;

/* Starts 'threads' workers, including the caller of strata_par_for; 0: as many as there are
** processors for the process.  NULL, with errno, if so many threads cannot be started or the number
** is negative. */
strata_pool *strata_pool_new(int32_t threads);
void strata_pool_free(strata_pool *pool);
int32_t strata_pool_workers(const strata_pool *pool); /* 0: of NULL */

/* A strata_par_for_fn; 'pool' is a strata_pool.  Not from inside a task. */
void strata_par_for(void *pool, int64_t tasks, strata_task_fn fn, void *arg);

/* Processors that this process may run on (its affinity). */
int32_t strata_processors(void);

/* Parameters: their initial values for a seed, and safetensors files with the model's names, which
** are checked against its table.  Writing is atomic and replaces only empty files and safetensors
** files.  Reading refuses a file that was trained with other values of the spec's options (-D) if
** the model computes something else.  Returns 0, or an exit status of the standalone program with a
** line of text in 'message' (of 'size' bytes, may be NULL). */
void strata_weights_init(const strata_model *m, uint64_t seed, float *weights);
int32_t strata_weights_read(const strata_model *m, const char *file, float *weights, char *message,
                            size_t size);
int32_t strata_weights_write(const strata_model *m, const char *file, const float *weights,
                             char *message, size_t size);

/* Choosing the next token from the logits of prefill and decode. */
typedef struct strata_sampling {
    size_t struct_size; /* sizeof(strata_sampling) */
    double temperature; /* 0: the likeliest id, of equals the smallest */
    double top_p;       /* the likeliest ids that make up this share; 1: all; one always stays */
    double min_p;       /* ids at least so many times as likely as the likeliest; 0: all */
    int64_t top_k;      /* so many of the likeliest ids; 0: all */
    uint64_t seed;
    int32_t ids;      /* 0 … this - 1 can be chosen: the vocabulary, or fewer */
    int32_t reserved; /* zero */
    /* 1 to 1000: divides positive logits of tokens that the sequence already has and multiplies
    ** negative ones. 1, 0, or a struct_size that ends before this member mean no penalty. */
    double repeat_penalty;
} strata_sampling;

/* A sampler may be used by one thread at a time and, with a penalty, for one sequence. */
typedef struct strata_sampler strata_sampler;
int32_t strata_sampler_new(const strata_sampling *how, strata_sampler **out, char *message,
                           size_t size);
void strata_sampler_free(strata_sampler *s);
/* The token for a position of a sequence.  It depends on logits, settings, position and, with a
** penalty, on the tokens seen, to which it is added. -1 if a logit is not finite. */
int32_t strata_sampler_next(strata_sampler *s, const float *logits, int64_t position);
/* Adds tokens of the sequence that were not drawn, such as its prompt; no effect without a
** penalty. */
void strata_sampler_see(strata_sampler *s, const int32_t *tokens, int64_t n);
/* Begins another sequence: forgets all tokens seen. */
void strata_sampler_forget(strata_sampler *s);

/*
** Tokenizers in files of other programs: tokenizer.json (byte-level BPE, and BPE of characters with
** byte fallback), SentencePiece's .model (BPE, unigram), .tiktoken.  What a file asks for and this
** version does not do is refused by name.  A tokenizer that was read does not change: any number
** of threads may use it.  Statuses and messages are those of strata_weights_read.
*/
typedef struct strata_tokenizer strata_tokenizer;

int32_t strata_tokenizer_read(const char *file, strata_tokenizer **out, char *message, size_t size);
/* The same from a file's bytes, which may be freed afterwards. */
int32_t strata_tokenizer_parse(const void *bytes, size_t length, strata_tokenizer **out,
                               char *message, size_t size);
/* The tokenizer of a model without such a file: "bytes", or "chars", whose characters are in a file
** of weights ('weights' may be NULL for "bytes").  If the model's spec names a file, the error
** message names it. */
int32_t strata_tokenizer_of_model(const strata_model *m, const char *weights,
                                  strata_tokenizer **out, char *message, size_t size);
void strata_tokenizer_free(strata_tokenizer *t);
/* strata_weights_write, with the tokenizer's data (chars: its characters). */
int32_t strata_weights_write_with(const strata_model *m, const char *file, const float *weights,
                                  const strata_tokenizer *t, char *message, size_t size);

/* Ids are 0 … this - 1. */
int32_t strata_tokenizer_ids(const strata_tokenizer *t);
/* The id that stands between texts, one of those that end a text; -1 if none is known. */
int32_t strata_tokenizer_end(const strata_tokenizer *t);
/* Returns the number of ids that end a text and writes the first 'room' of them to 'ids', which may
** be NULL if 'room' is 0.  A program that generates ends at each of them. */
int32_t strata_tokenizer_ends(const strata_tokenizer *t, int32_t *ids, int32_t room);
/* The id that begins a text, whether or not STRATA_TEMPLATE puts it in front; -1: none is known. */
int32_t strata_tokenizer_begin(const strata_tokenizer *t);
/* The id of a piece as the file spells it, "<|im_end|>"; -1: none. */
int32_t strata_tokenizer_find(const strata_tokenizer *t, const char *piece);

enum {
    STRATA_TEMPLATE = 1, /* encoding adds what the file puts around a text */
    STRATA_PLAIN = 2,    /* text that spells a special token is text like any other */
    STRATA_SPECIALS = 4, /* decoding shows special tokens, which it leaves out else */
    STRATA_CONTINUES = 8 /* a decoder's ids do not begin a text, whose first space would go */
};

/* An array of the caller for ids or bytes, and the number of results, which may exceed the room:
** then only the first ones are written, and the call can be repeated.  No NUL is added to text. */
typedef struct strata_ids {
    int32_t *at;
    size_t room, count;
} strata_ids;
typedef struct strata_text {
    char *at;
    size_t room, length;
} strata_text;

/* Bytes that are not UTF-8 are read as U+FFFD.  'flags': STRATA_TEMPLATE and STRATA_PLAIN for
** encode, STRATA_SPECIALS for decode; other flags are refused, and so are ids that the tokenizer
** does not have. */
int32_t strata_tokenizer_encode(const strata_tokenizer *t, const char *text, size_t length,
                                uint32_t flags, strata_ids *ids, char *message, size_t size);
int32_t strata_tokenizer_decode(const strata_tokenizer *t, const int32_t *ids, size_t count,
                                uint32_t flags, strata_text *text, char *message, size_t size);

/* Decodes a text id by id into whole characters.  A decoder belongs to one thread, and its
** tokenizer must outlive it.  'flags': STRATA_SPECIALS, STRATA_CONTINUES.  NULL: no memory, or
** other flags (errno ENOMEM, EINVAL). */
typedef struct strata_decoder strata_decoder;
strata_decoder *strata_decoder_new(const strata_tokenizer *t, uint32_t flags);
void strata_decoder_free(strata_decoder *d);
/* Ends the text where 'stop' begins, or at the first of several such texts, however many ids it
** takes: text that may begin one is held back.  Not 0: no memory, or an empty text. */
int32_t strata_decoder_stop(strata_decoder *d, const char *stop);
/* 1 if a stop was reached; push then returns no text until strata_decoder_end. */
int32_t strata_decoder_stopped(const strata_decoder *d);
/* The text of one more id, "" while a character is incomplete: *length bytes and a NUL, valid until
** the next call.  NULL: no memory, or an id that the tokenizer does not have (errno ENOMEM,
** EINVAL). */
const char *strata_decoder_push(strata_decoder *d, int32_t id, size_t *length);
/* Returns what was held back, with U+FFFD or nothing for an incomplete character.  Another text may
** begin afterwards, with the same stops. */
const char *strata_decoder_end(strata_decoder *d, size_t *length);

/*
** Ranks: processes, or threads, that train one model together.  Each runs the standalone program
** with the same command line and computes a part of every step's micro-batches.  Who starts them
** brings a strata_reducer, which moves numbers between them.  What is added to what is not its
** choice: the sum over a step's micro-batches is a binary tree whose shape depends on their number
** alone, so that any number of ranks has the bits of one.
*/

/* The sum of micro-batches [first, first + count) of a step, a node of its tree. */
typedef struct strata_part {
    int64_t first, count;
    const float *at;
} strata_part;

/* out[i] = the sum over all 'leaves' micro-batches of a step, of 'count' numbers. The parts, each
** with as many numbers, are in the order of their micro-batches and have each of these once; 'out'
** may be the numbers of one of them. Not 0: they are no such parts (STRATA_ERROR_ARGUMENT). */
int32_t strata_sum_parts(int64_t leaves, const strata_part *part, int64_t parts, int64_t count,
                         float *out);

/* The gradients of a step, as a rank has them; all of it stays until 'end'. */
typedef struct strata_step {
    size_t struct_size;
    int64_t leaves;          /* micro-batches of the step, of all ranks */
    int64_t gradients;       /* numbers of a part */
    const strata_part *part; /* this rank's, in order, at least one */
    int64_t parts;
    float *sum;        /* where the sum over all is wanted: where the last part's numbers are */
    strata_pool *pool; /* may be used from the functions of a strata_reducer */
} strata_step;

/* Moves numbers between ranks.  One thread of each rank calls the functions, all ranks in the same
** order.  They return 0, or the exit status of a failure (4: communication failed), which ends the
** rank. */
typedef struct strata_reducer {
    size_t struct_size; /* sizeof(strata_reducer) */
    void *user;
    int32_t rank, ranks; /* 0 <= rank < ranks; rank 0 is the one that writes */
    /* A step: 'begin' comes before the rank's last micro-batch is computed; 'range' while it is,
    ** each time that numbers [first, first + count) of all its parts are final, in order, until all
    ** are; 'end' returns when 'sum' has the sum over all ranks, the same bits on each. */
    int32_t (*begin)(void *user, const strata_step *step);
    int32_t (*range)(void *user, int64_t first, int64_t count);
    int32_t (*end)(void *user);
    /* x[i] becomes the sum over all ranks of x[i], the same bits on each. Of a number's summands no
    ** more than one is not 0, but where they are small counts: any order will do. */
    int32_t (*sum)(void *user, double *x, int64_t count);
    /* The rank is done, with that exit status: who waits for it, now or later, gets an error. */
    void (*leave)(void *user, int32_t status);
    const char *(*message)(void *user); /* why the last call failed, one line; may be NULL */
} strata_reducer;

/* Services that the caller of a standalone program may provide. */
typedef struct strata_services {
    size_t struct_size;  /* sizeof(strata_services) */
    strata_gemm_fn gemm; /* NULL: the model's own products */
    void *gemm_user;
    const strata_reducer *reducer; /* NULL: one rank */
} strata_services;

/* The standalone program: parses the command line and returns the exit status. services and gemm
** may be NULL.  Several threads of a process can each be a rank. */
int strata_main(int argc, char **argv, const strata_api *api);
int strata_main_services(int argc, char **argv, const strata_api *api,
                         const strata_services *services);
/* The same with the one service that older programs know. */
int strata_main_with(int argc, char **argv, const strata_api *api, strata_gemm_fn gemm);

#ifdef __cplusplus
}
#endif
#endif
