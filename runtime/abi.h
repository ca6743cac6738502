/* SPDX-License-Identifier: MIT
** The interface of a compiled model: every generated header contains this text, once however many
** models a program includes.  It needs only the C library's stddef.h and stdint.h; C99 and C++.
**
** A model called P exports the functions listed at the end with P_ in front.  The caller owns five
** regions; the model allocates nothing:
**   WEIGHTS  parameters, canonical layout; only P_update writes them, threads and instances
**            share them.  float32.  Built with --precision bf16 --inference, those that only
**            products and lookups read are bfloat16, rounded to nearest, ties to even; with
**            --weights they are packed as 8 or 4 bits each (strata_tensor.type)
**   STATE    one per sequence: caches of prefill and decode, and what operations over time
**            carry, whose size does not depend on the sequence's length; position
**            independent (save, restore, fork with memcpy).  A routed layer caches the
**            tokens that its route takes.  A state has room for all tokens, but only those
**            that come are written (memory from mmap is allocated page by page), or for a
**            share of them
**   ARENA    scratch, one per concurrent call; its contents do not outlive the call
**   TRAIN    gradients, then the two moments of AdamW, in the order in which gradients become
**            final: 3 * P_GRADIENTS floats (tensors start on cache lines).  For models that
**            Muon trains too, its momentum lies in place of the first moment, and there are
**            strata_model.second_moments floats of second moments.  Frozen tensors have
**            nothing here.  Builds with --precision bf16 then have the weights packed for
**            products, which only P_update writes and which need not be saved.
**            P_TRAIN_BYTES is the size
**   CTX      control block: one per calling thread; holds the last error's text
** All are aligned to STRATA_ALIGN bytes.  Every function returns a status.
*/
#ifndef STRATA_ABI
#define STRATA_ABI 2

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_ALIGN 64
#define STRATA_MAGIC UINT64_C(0x31617461727453ff)

/* Status.  A call refuses what it can see to be wrong before it does anything: NULL, regions that
** are not aligned, numbers and ids out of range, unknown flags, reserved members that are not zero,
** a control block that another model prepared, a damaged state, one state twice in a batch.  It
** cannot see the size of a region: ask for the size that is needed (P_arena_bytes and others return
** 0 for wrong arguments). */
enum {
    STRATA_OK = 0,
    STRATA_ERROR_ARGUMENT = 1, /* a size, pointer or token id is wrong */
    STRATA_ERROR_CPU = 2,      /* the processor lacks a feature the code needs */
    STRATA_ERROR_STATE = 3,    /* a state of another model or another context */
    /* the sequence would be longer than the context, or a route took more tokens than the state has
    ** room for; states are unchanged */
    STRATA_ERROR_FULL = 4,
    STRATA_ERROR_MISSING = 5, /* built without this function (--inference) */
    STRATA_ERROR_STOPPED = 6, /* the 'final' callback asked to stop */
    STRATA_ERROR_CHECK = 7,   /* a --check build found a stray access */
    STRATA_ERROR_PAST = 8     /* a state does not hold what is needed to go back so far */
};

/* fn(arg, task, worker) for task = 0 .. tasks-1, on any threads, in any order;
** returns when all are done.  0 <= worker < setup.workers, never two tasks
** with one worker at once.  Tasks never wait for each other. */
typedef void (*strata_task_fn)(void *arg, int64_t task, int32_t worker);
typedef void (*strata_par_for_fn)(void *pool, int64_t tasks, strata_task_fn fn, void *arg);

/* C[m,n] += A^T[m,k] B[k,n], row-major, A stored [k,m]: weight gradients. NULL: the model's own. */
typedef void (*strata_gemm_fn)(void *user, int64_t m, int64_t n, int64_t k, const float *a,
                               int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc);

/* begin = 1 before, 0 after kernel 'index' of the kernel table ran on this worker */
typedef void (*strata_profile_fn)(void *user, int32_t index, int32_t begin, int32_t worker);

/* logits and loss use the form that generates, if routes choose in another way in training */
enum { STRATA_AS_GENERATED = 1 };

/* For measurements of models that call OpenBLAS: no product calls it, or every product that can.
** No effect on other models. */
enum { STRATA_NO_BLAS = 2, STRATA_ALL_BLAS = 4 };

/* the number of tokens by which a state with a window can go back (state_truncate), and the most
** that extend appends */
enum { STRATA_BACK = 4 };

typedef struct strata_setup {
    size_t struct_size;        /* sizeof(strata_setup) */
    strata_par_for_fn par_for; /* NULL: serial */
    void *pool;
    strata_gemm_fn gemm; /* NULL: the model's own products */
    void *gemm_user;
    strata_profile_fn profile; /* NULL: none */
    void *profile_user;
    int32_t workers; /* at least 1 */
    uint32_t flags;  /* STRATA_AS_GENERATED, STRATA_NO_BLAS, ..., or 0 */
    /* for measurements: 1 + millionths of tokens that each route takes, evenly spaced; 0: as it
    ** decides */
    int32_t routed;
    /* For measurements beyond the model's context, without states: the longest sequence, with a
    ** control block of strata_ctx_bytes (0: the context); and rotations stretched by YaRN, a factor
    ** and a scale, 0.1 ln factor + 1 (factor 0: not stretched). */
    int32_t length;
    float yarn, yarn_scale;
    int32_t reserved[2]; /* zero */
} strata_setup;

/* strata_adamw.muon.  With STRATA_NESTEROV, the gradient plus the momentum is made orthogonal, not
** the momentum alone.  With STRATA_MATCH_RMS, a matrix's rate is the update's times 0.2 sqrt(its
** longer side), so that its steps are as large as AdamW's; otherwise it is the update's times
** max(1, sqrt(rows / columns)). */
enum { STRATA_NESTEROV = 1, STRATA_MATCH_RMS = 2 };

typedef struct strata_adamw {
    size_t struct_size;
    double lr, beta1, beta2, eps, weight_decay; /* at least 0; beta1, beta2 below 1 */
    double grad_scale; /* gradients are multiplied by this first (clipping); at least 0 */
    int64_t step;      /* 1-based, for the bias correction */
    /* for models that Muon trains too (strata_model.muon_tensors): momentum, below 1; the number of
    ** Newton-Schulz steps, 1 to 100; STRATA_NESTEROV, STRATA_MATCH_RMS */
    double momentum;
    int32_t newton_schulz;
    uint32_t muon;
    int64_t reserved[2]; /* zero */
} strata_adamw;

typedef struct strata_loss {
    /* with another size, only 'loss' and 'cross_entropy' are written */
    size_t struct_size;
    double loss;          /* mean over tokens, routing terms included */
    double cross_entropy; /* mean over tokens, nats */
    uint64_t draw;        /* in, forward_backward: which random numbers it draws; 0: none */
    /* in: NULL, or an array for the share of tokens that each route takes [strata_model.routed] */
    double *routed;
    /* in, forward_backward: the row of a larger batch at which 'tokens' begins.  A random number
    ** depends on 'draw', on its row in that batch and on the position, and on no other row. */
    int64_t row;
    int64_t reserved[3]; /* zero */
} strata_loss;

/* Gradients [first, first + count) are final.  Not 0: stop (STRATA_ERROR_STOPPED). */
typedef int32_t (*strata_range_fn)(void *user, int64_t first, int64_t count);

/* Flags of forward_backward.  STRATA_ACCUMULATE adds to the existing gradients.  STRATA_PACKED uses
** the packed weights that update left in TRAIN; set it only if update, with this TRAIN, was the
** last to write all of WEIGHTS (no effect if there are no packed weights). */
enum { STRATA_ACCUMULATE = 1, STRATA_PACKED = 2 };

/*
** The descriptor: position independent, offsets are bytes from its start.
*/
/* strata_tensor.type; matrices of small weights are packed, but strata_weights_read fills WEIGHTS
** correctly */
enum { STRATA_F32 = 0, STRATA_BF16 = 1, STRATA_Q8 = 2, STRATA_Q4 = 3 };

typedef struct strata_tensor {
    uint32_t name; /* offset of a NUL-terminated string */
    int32_t rank;
    int64_t shape[4];
    int64_t weight; /* first element in WEIGHTS, in floats (4 bytes) whatever the type */
    /* first element among the gradients in TRAIN, and in each moment (strata_tuning.second).
    ** Frozen tensors have none and are the last ones in the table; for them it is the end of all
    ** gradients */
    int64_t gradient;
    int64_t count;
    /* 1: weight decay applies; -1: a buffer, which no gradient trains: in place of the gradient is
    ** a statistic of the step, from which update computes the new value */
    int32_t decay;
    int32_t init; /* 0: all 'value'; 1: normal, deviation 'value'; 2: 'values'; 3: even on a line */
    double value;
    uint32_t values; /* offset of 'count' doubles, if init is 2; of a line's, 'value', if it is 3 */
    uint32_t type;   /* in WEIGHTS: STRATA_F32, ... */
} strata_tensor;

/* What an update does with a tensor: AdamW, Muon (a matrix), nothing. */
enum { STRATA_ADAMW = 0, STRATA_MUON = 1, STRATA_FROZEN = 2 };

/* How a tensor is trained; a table beside the tensors'. */
typedef struct strata_tuning {
    int32_t by; /* STRATA_ADAMW, ... */
    int32_t reserved;
    int64_t second;      /* first element among second moments; -1: it has none */
    double rate;         /* its rate is the update's times this */
    double weight_decay; /* instead of the update's; -1: the update's */
} strata_tuning;

/* strata_kernel.used: in the forward or backward part of a training step; in prefill and decode;
** for the tokens that a route takes only, so that its work is multiplied by their share (pairs: by
** its square) */
enum { STRATA_FORWARD = 1, STRATA_BACKWARD = 2, STRATA_DECODE = 4, STRATA_SOME = 8 };
/* strata_kernel.blas: a product that OpenBLAS can compute; one that it does compute (except for few
** rows) */
enum { STRATA_BLAS_CAN = 1, STRATA_BLAS_DOES = 2 };

/* The work of all calls of a kernel in one call of the model. */
typedef struct strata_work {
    int64_t calls;
    double flops_per_token, bytes_per_token;
    double flops_per_pair; /* attention: a (query, key) pair */
    double bytes_constant;
    /* of those per token: what prefill does for a prompt's last token only */
    double last_flops, last_bytes;
    /* row kernels: what a vector unit does, in multiply-adds that take as long */
    double operations_per_token;
} strata_work;

typedef struct strata_kernel {
    uint32_t name, family; /* offsets of strings; family: row, product, sequence, loss, ... */
    int32_t used, blas;
    uint32_t operation; /* string: the operation of the op table; "row" if it is several */
    int32_t sizes;      /* how many of 'size' there are */
    /* of products: rows and columns of the weights, of experts' also how many experts; of others
    ** what the name has */
    int64_t size[3];
    strata_work training, forward; /* of a forward_backward; of prefill and decode */
} strata_kernel;

typedef struct strata_model {
    uint64_t magic;       /* STRATA_MAGIC */
    uint32_t abi_version; /* STRATA_ABI */
    uint32_t struct_size; /* sizeof(strata_model) */
    uint64_t spec_hash;
    uint32_t name, compiler, cpu, features, precision, spec_file; /* strings */
    uint32_t mixer, tokenizer; /* strings; tokenizer "" if none */
    int32_t vocab, context, dim, layers, sublayers;
    int32_t training; /* 0: built with --inference */
    int64_t parameters;
    int64_t weights_bytes, train_bytes, ctx_bytes;
    int64_t arena_per_token, arena_per_worker, arena_constant; /* bytes */
    int64_t arena_decode_constant;
    int64_t state_per_token, state_constant; /* bytes */
    double flops_forward, flops_training;    /* per token, at full context */
    int32_t tensors, kernels;
    uint32_t tensor_table, kernel_table; /* offsets */
    /* the spec's training settings */
    int32_t batch, schedule; /* schedule: 0 constant, 1 cosine, 2 wsd */
    double lr, beta1, beta2, eps, weight_decay, clip;
    double warmup, decay, min_lr;
    uint64_t seed;
    int64_t chunk;     /* tokens per task, at most */
    int64_t gradients; /* floats of gradients in TRAIN, and of each moment, padding included */
    /* string: the sublayer that sees later tokens, "" if none; such a model cannot decode */
    uint32_t acausal;
    uint32_t probe_table; /* offset: what probe takes and gives; none in objects */
    int32_t probe_inputs, probe_results;
    int64_t probe_weights_bytes; /* WEIGHTS with the inputs behind them */
    int32_t forms;  /* 2: it generates otherwise than it is trained (STRATA_AS_GENERATED); else 1 */
    int32_t routed; /* routes that take some tokens only */
    uint32_t routed_table; /* offset: a uint32_t each, the offset of its site's string */
    /* string: the site at which a route chooses among later tokens too, "" if there is none; such a
    ** model cannot decode */
    uint32_t ahead;
    int32_t learned_positions; /* 1: there are none beyond the context */
    int32_t small;             /* STRATA_Q8 or STRATA_Q4: built with --weights; else 0 */
    int64_t state_per_routed;  /* of state_per_token: what only tokens that routes take need */
    /* the part of state_constant that operations over time carry; every prefill and decode reads
    ** and writes all of it */
    int64_t state_carried;
    double momentum; /* the spec's settings of Muon, as in strata_adamw */
    int32_t newton_schulz;
    uint32_t muon;
    int32_t muon_tensors;   /* that Muon trains */
    int32_t frozen;         /* of the tensors, the last so many */
    uint32_t tuning_table;  /* offset: a strata_tuning by tensor; 0: AdamW trains all alike */
    int64_t second_moments; /* floats of them in TRAIN, padding included */
    int64_t muon_bytes;     /* of TRAIN: what Muon works in */
    /* string: the values of the spec's options, option { }, as JSON: {"width": 64}; "{}" if there
    ** are none */
    uint32_t options;
    /* string: the implementation of matrix products, "generated" kernels, "openblas", or "auto" for
    ** both.  Except for the first, the threads that call the model and run its tasks call
    ** cblas_sgemm */
    uint32_t blas;
    /* STRATA_F32, STRATA_BF16 or STRATA_Q8: the type of keys and values in states, except averages,
    ** which are float32 */
    int32_t cache;
    /* a hash of the operations that compute logits from tokens and parameters: with another hash,
    ** weights have another meaning; 0: not known */
    uint64_t function;
} strata_model;

enum { STRATA_CTX_HEAD = 4096 }; /* bytes before the tables, which have a row a position */
static inline int64_t strata_ctx_bytes(const strata_model *m, int64_t length) {
    return STRATA_CTX_HEAD + (m->ctx_bytes - STRATA_CTX_HEAD) / m->context * length;
}

#define strata_string(m, at) ((const char *)(m) + (at))
#define strata_routed(m, i) \
    strata_string(m, ((const uint32_t *)((const char *)(m) + (m)->routed_table))[i])
#define strata_tensors(m) ((const strata_tensor *)((const char *)(m) + (m)->tensor_table))
#define strata_tunings(m) ((const strata_tuning *)((const char *)(m) + (m)->tuning_table))
#define strata_kernels(m) ((const strata_kernel *)((const char *)(m) + (m)->kernel_table))

/* The functions of a model, as a table for programs that handle several models. tokens, targets:
** int32 [B,T] row-major.  Threads: no function has memory of its own.  Concurrent calls need a ctx,
** an arena and states each (and a TRAIN, which sum_squares only reads); they may share weights
** unless one of them is an update.  A ctx, an arena (whose contents do not outlive a call) and a
** state belong to no thread: one thread may use them now and another one later. */
typedef struct strata_api {
    size_t struct_size;
    const strata_model *(*model)(void);
    const char *(*strerror_)(int32_t status);
    /* Prepares ctx (of 'bytes'); checks processor, sizes and setup. */
    int32_t (*init)(void *ctx, size_t bytes, const strata_setup *setup);
    size_t (*state_bytes)(int64_t context);
    size_t (*arena_bytes)(int64_t tokens, int32_t workers);
    /* Makes a state of state_bytes(context) bytes empty. */
    int32_t (*state_init)(void *ctx, void *state, int64_t context);
    /* Appends n tokens to a sequence; logits of the last one [V], or NULL.
    ** arena_bytes(n, workers). */
    int32_t (*prefill)(void *ctx, const void *w, void *state, void *arena, const int32_t *tokens,
                       int64_t n, float *logits);
    /* Appends one token to each of 'batch' sequences, at most strata_model.chunk; logits [batch,
    ** V]. arena_bytes(batch, workers).  States must be distinct and have the same context and
    ** share; their lengths may differ. */
    int32_t (*decode)(void *ctx, const void *w, void *const *states, int32_t batch, void *arena,
                      const int32_t *tokens, float *logits);
    /* Logits of every position [B,T,V]; arena_bytes(B * T, workers). */
    int32_t (*logits)(void *ctx, const void *w, void *arena, const int32_t *tokens, int64_t B,
                      int64_t T, float *out);
    /* Loss and gradients, times 'scale'; calls final (may be NULL) as ranges
    ** of gradients become final, in order, from the calling thread. */
    int32_t (*forward_backward)(void *ctx, const void *w, void *train, void *arena,
                                const int32_t *tokens, const int32_t *targets, int64_t B, int64_t T,
                                float scale, uint32_t flags, strata_range_fn final, void *user,
                                strata_loss *out);
    /* Sum of squares of gradients [first, first+count) in a fixed order, without buffers. */
    int32_t (*sum_squares)(void *ctx, const void *train, int64_t first, int64_t count, double *out);
    /* AdamW on parameters [first, first+count) in gradient order.  Concurrent updates must not
    ** share a tensor, because its rows are packed together.  A buffer's rule, and all work of Muon
    ** on a tensor, run in the update that has the first number of it; such updates must not run at
    ** the same time. */
    int32_t (*update)(void *ctx, void *w, void *train, int64_t first, int64_t count,
                      const strata_adamw *how);
    /* The loss alone, no gradients; arena_bytes(B * T, workers). */
    int32_t (*loss)(void *ctx, const void *w, void *arena, const int32_t *tokens,
                    const int32_t *targets, int64_t B, int64_t T, float *nll /* [B,T] */,
                    strata_loss *out);
    /* Why the last call with this ctx failed; "" if it did not fail, or if ctx is no control block
    ** of this model, because a call cannot write to such a block. */
    const char *(*message)(const void *ctx);
    /* Standalone programs only.  Runs the forward pass of the probe and writes its results one
    ** after another to out. w: WEIGHTS followed by the probe's inputs; arena: probe_arena_bytes(B *
    ** T, workers); taken: [strata_model.routed, B, T], 1 at tokens that a route takes and 0 at
    ** others, or NULL. */
    size_t (*probe_arena_bytes)(int64_t tokens, int32_t workers);
    int32_t (*probe)(void *ctx, const void *w, void *arena, const int32_t *tokens,
                     const int32_t *targets, int64_t B, int64_t T, float *out, uint8_t *taken,
                     strata_loss *loss);
    /* States for routed models.  States of state_bytes and state_init have room for all tokens of a
    ** context in every layer; these have room for 'share' millionths of them, rounded up, in routed
    ** layers.  If a route takes more, prefill and decode return STRATA_ERROR_FULL, the message
    ** names the sequence, and all states of the call are unchanged: repeat it with fewer sequences
    ** or with larger states.  States of a batch need the same share. */
    size_t (*state_bytes_share)(int64_t context, int32_t share);
    int32_t (*state_init_share)(void *ctx, void *state, int64_t context, int32_t share);
    /* Copies the sequence of 'from' to 'to', which must be an empty state; their contexts and
    ** shares may differ. */
    int32_t (*state_copy)(void *ctx, void *to, const void *from);
    /* The number of tokens in a state's sequence; -1 if it is no state of this model. */
    int64_t (*state_length)(const void *state);
    /* Takes the last tokens of a sequence away: 'length' are left, and what comes next is as if the
    ** others had never been. To none, and to all, every state goes. Else, if the model has
    **   operations that carry a past (convolutions, recurrences, shifts)   not at all
    **   a window     by STRATA_BACK tokens, or while the sequence is not longer than the window
    **   averages over chunks of tokens   to whole chunks
    **   a route      if it took all tokens of the sequence, or none
    ** else it is STRATA_ERROR_PAST, and the state is as it was. Where it may be needed, keep a copy
    ** (memcpy, state_copy). */
    int32_t (*state_truncate)(void *ctx, void *state, int64_t length);
    /* Appends n tokens, at most STRATA_BACK, to a sequence with the bits of n calls of decode, but
    ** reads weights once; logits after each of them [n, V]. arena_bytes(n, workers).  With
    ** state_truncate, or a copy of the state, a program can check what another model proposes. */
    int32_t (*extend)(void *ctx, const void *w, void *state, void *arena, const int32_t *tokens,
                      int64_t n, float *logits);
    void *reserved[3];
} strata_api;

/* A shared library (--emit shared) also exports "strata_model_api", which fills a table for
** programs that load a library without knowing the model's name. struct_size of *api is the size of
** the table; another size is STRATA_ERROR_ARGUMENT.  Members of functions that the library lacks
** become NULL.  Every library has this name: in a process with several libraries, pass the
** library's handle to dlsym. */
typedef int32_t (*strata_model_api_fn)(strata_api *api);

#ifdef __cplusplus
}
#endif
#endif
