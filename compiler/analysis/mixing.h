/* SPDX-License-Identifier: MIT
** The depth-mixing matrix of a model, for any mixer: entry (r, s) is the weight with which read r
** takes source s.  Sources are the embedding and every sublayer's output.  Reads are those before
** the sublayers and the final one, so read r can see sources 0 ... r.
**
** Definition.  Remove the sublayers: their outputs become independent inputs v_s, and read r
** becomes a function of them and of the mixer's parameters.  A value is a source, or a linear
** function of values.  An operation is linear in values if its gradient rules mention neither a
** value nor its result.  Everything else that is computed from sources is a weight: a gate, a
** softmax, the scale of a norm, a score.  With the weights held constant, read r is linear in the
** sources,
**     h_r = sum over s of J_rs v_s,      entry (r, s) = mean of the diagonal of J_rs,
** where the mean is taken over channels.  If weights depend on the sources, so do the entries;
** they are then measured on random sources.  Statements about rank refer to the matrix of one
** token and one channel.
*/
#ifndef STRATA_MIXING_H
#define STRATA_MIXING_H

#include "data_files.h"
#include "error.h"
#include "spec.h"

/* The seed of random weights and sources in views, which gives the same output every time. */
enum { MIXING_SEED = 20260615 };

typedef enum MixingWeights { WEIGHTS_INITIAL, WEIGHTS_RANDOM } MixingWeights;

typedef struct Mixing {
    int size;              /* reads, and sources */
    int samples, channels; /* looked at one by one: tokens, and channels of each */
    double *mean;          /* [size][size]: over all channels and samples */
    double *one;           /* [samples][channels][size][size] */
} Mixing;

/* What the entries depend on. */
typedef enum MixingKind { MIXING_FIXED, MIXING_PARAMETERS, MIXING_DATA } MixingKind;

/* Sources are normal numbers.  Random weights are the initial ones, plus normal numbers of
** deviation 1 / sqrt(last axis) unless the parameter starts with such numbers.  NULL and e: too
** large. */
Mixing *mixing_measure(const Model *m, MixingWeights weights, uint64_t seed, Error *e);

/* Where weights and sources come from.  Both functions return values in row-major order that the
** caller frees: of a parameter of the model, and of source s, [batch * time, dim]; NULL if there is
** no memory. */
typedef struct MixingInput {
    int batch, time; /* of the sequences; every token of theirs is a sample */
    uint64_t seed;   /* of the direction */
    double *(*param)(void *user, const Node *param);
    double *(*source)(void *user, int s);
    void *user;
} MixingInput;

Mixing *mixing_measure_input(const Model *m, const MixingInput *in, Error *e);

/* The last 'share' of data, as training evaluates on. */
typedef struct MixingText {
    DataWords words;
    double share; /* 1: all of it */
} MixingText;

/* mixing_trained.c: with the parameters of a weight file, on the sources in some windows of a
** text. */
Mixing *mixing_trained(const Model *m, const char *weights, const MixingText *text, Error *e);
void mixing_free(Mixing *x);
MixingKind mixing_kind(const Mixing *initial, const Mixing *random);

/*
** Ranks.  Block k of a matrix is rows k ... size-1, columns 0 ... k: all that reads from
** k on take from sources up to k.  A matrix whose blocks have rank 1 at most is called
** 1-semiseparable; a dense one has the rank mixing_dense(size, k) in block k.
*/
int mixing_dense(int size, int k);
/* The rank of block k: the largest of all samples and channels. */
int mixing_rank(const Mixing *x, int k);
int matrix_rank(const double *a, int rows, int columns, int stride);

#endif
