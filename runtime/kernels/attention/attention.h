/* SPDX-License-Identifier: MIT
** Attention over sequences, forward and backward, and of new queries to caches.
*/
#ifndef STRATA_ATTENTION_H
#define STRATA_ATTENTION_H

#include <stdint.h>

/* softmax(scale q k^T) v, query head h uses key group h / (heads / groups) */
typedef struct Attention {
    int64_t sequences, time; /* queries: 'time' of each sequence, rows b * time + t */
    /* if not NULL: those of sequence b are rows first[b] ... first[b+1]-1, at most 'time'; its keys
    ** first_key[b] ... */
    const int64_t *first, *first_key;
    /* if not NULL: of its sequence's keys in this call, how many a query's row sees if causal */
    const int32_t *sees;
    int32_t heads, groups, dk, dv; /* dk: query and key size, dv: value size */
    int32_t causal;                /* query t sees keys 0 .. past + t, else all past + time */
    /* keys and values are averages over time, of chunks of so many tokens (causal: (j + 1) pool <=
    ** t is seen) or so many a sequence; 0: no */
    int64_t pool;
    /* 1: any of the next six is set, which functions of their own look at */
    int32_t shaped;
    int32_t share;  /* values are the first dv of a key's floats: v is k, caches have keys only */
    int64_t window; /* causal: a query sees so many keys, its own the last; 0: all */
    int64_t ring;   /* rows of caches that are rings, position p in row p modulo ring; 0: none is */
    float softcap;  /* scores s become softcap tanh(s / softcap); 0: they stay */
    /* [rows][heads * distances]: added to scores of keys so many positions before; NULL: nothing.
    ** one_table: all rows have the same, rows are 0 floats apart */
    const float *by_distance;
    int64_t distances, lddistance;
    int32_t one_table;
    int32_t bf16; /* both sides of every product are rounded to bfloat16 first */
    /* with it, and nothing that shapes or pools: q, k, v, o, dout and dq are rows of bfloat16s, two
    ** a float of their strides; dk and dv whole cache lines of them */
    int32_t narrow;
    /* KEPT_.. (kept_rows.h): what caches keep; what keys and values of the call's own rows are
    ** rounded to that no cache has: not averages */
    int32_t kept, rounded;
    float scale;
    const float *q;     /* [rows][heads * dk] */
    const float *k, *v; /* used if keys is NULL: [rows][groups * dk], [rows][groups * dv] */
    int64_t ldq, ldk, ldv;
    float *o; /* [rows][heads * dv] */
    /* [rows][heads] natural log of the sum of exp, -1e30 if no key is seen; may be NULL */
    float *lse;
    int64_t ldo, ldlse;
    /* cached form (rings of keys hold those of a window, and the call's own if it has few: see
    ** k_attention_appends_first): sequence b's keys of group g start at keys[b] + g * context * r,
    ** rows r = kept_floats(kept, dk) apart, values likewise (dv); past[b] positions are there
    ** before the first query, and the queries' own keys follow them.  Averages of chunks are
    ** cached as such, float32, one row a chunk; until its last token a row holds a sum.
    ** Finished rows of float32 are rounded if products of bfloat16 read them. */
    float *const *keys, *const *values;
    const int64_t *past;
    int64_t context; /* rows of a cache */
    int32_t workers; /* which share the tasks, backward and of caches; bits don't depend on it */
    /* few queries, cached form: what tasks find in parts of a history, until k_attention_join,
    ** floats at aside + i * ldaside of worker i.  NULL: a task takes all keys of its rows */
    float *aside;
    int64_t ldaside, aside_floats;
    /* backward only */
    const float *delta; /* [rows][heads] sum of dout * o, less the gradient of lse */
    int64_t lddelta;
    const float *dout; /* [rows][heads * dv] */
    int64_t lddout;
    float *dq, *dk_, *dvalue; /* gradients of q, k, v, overwritten */
    /* of by_distance; of one table [rows][heads]: a sequence's row d has what its queries give for
    ** distance d, 0 from 'distances' on */
    float *ddistance;
    int64_t lddq, lddk, lddv, ldddistance;
} Attention;
/* Tasks are independent; results don't depend on who runs them. */
int64_t k_attention_tasks(const Attention *a);
void k_attention(const Attention *a, int64_t task, float *scratch);
/* After the tasks: results of what they put aside.  A worker's room, heads of size d at most. */
void k_attention_join(const Attention *a);
int64_t k_attention_aside_floats(int64_t d);
/* Copies k, v rows of 'time' new positions into the caches (cached form) of sequence b: before the
** tasks above, or, where this says 0, after them: the tasks then still need what new rows replace
** in a ring.  A ring has room for window - 1 + ATTENTION_FEW rows, at least.  So many queries at
** most attend one by one (decoding): STRATA_BACK, as frame.h asserts. */
enum { ATTENTION_FEW = 4 };
int k_attention_appends_first(const Attention *a);
void k_attention_append(const Attention *a, int64_t b);
int64_t k_attention_grad_tasks(const Attention *a);
void k_attention_grad(const Attention *a, int64_t task, float *scratch);
/* Work space a worker needs, in bytes, of head sizes up to d (the larger of the key's and the
** value's). */
int64_t k_attention_scratch(int64_t d);

#endif
