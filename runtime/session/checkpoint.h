/*
** Checkpoints of training: one safetensors file with the parameters under their own
** names, optimizer.m.* and optimizer.v.*, the tokenizer, and in the metadata everything
** that decides the next bit.  Equal states are equal files: no dates, fixed order.
** FILE is replaced atomically and the one before is FILE.prev; a process killed at any
** moment leaves at least one of them valid.  The whole file has a checksum.
*/
#ifndef STRATA_CHECKPOINT_H
#define STRATA_CHECKPOINT_H

#include "abi.h"
#include "error.h"
#include "tokenizer.h"

#define CHECKPOINT_VERSION 1

/* Everything but the tensors.  Text fields are NUL-terminated. */
typedef struct Checkpoint {
    /* what the run is; --resume with another is refused */
    char spec[80]; /* the model's name */
    uint64_t spec_hash;
    char precision[16];
    char data_sha256[65], val_sha256[65]; /* val: "" without --val */
    double val_share;
    int64_t batch, accumulate, context;
    bool random; /* --order */
    uint64_t seed, data_seed;
    double lr;        /* the base rate */
    int64_t schedule; /* 0 constant, 1 cosine, 2 wsd */
    double warmup, decay, min_lr;
    int64_t steps;      /* of the whole run; may differ under constant */
    int64_t eval_every; /* recorded, not compared */
    /* where it stands */
    int64_t step;     /* updates done */
    int64_t position; /* tokens trained on */
    bool has_best;    /* an evaluation was made */
    double best_val_loss;
    int64_t best_step;
} Checkpoint;

/* The fields that follow from the model: spec, spec_hash, precision, context, batch, lr, schedule
** …, seeds. */
void checkpoint_defaults(Checkpoint *c, const strata_model *m);

/* Saves; what was at 'path' becomes path.prev.  train: the TRAIN region (gradients are not saved).
** tokenizer may be NULL. */
int checkpoint_save(const char *path, const strata_model *m, const float *weights,
                    const float *train, const Tokenizer *tokenizer, const Checkpoint *c, Error *e);

typedef struct CheckpointFile {
    Safetensors file; /* open and verified */
    Checkpoint state;
    bool previous;  /* it is path.prev */
    char note[512]; /* why path itself was not taken; "" if it was */
} CheckpointFile;

/* Opens the newest valid one of path and path.prev: well-formed, of this version, with a
** right checksum.  Neither there, or both damaged: an error. */
int checkpoint_open(CheckpointFile *f, const char *path, Error *e);
void checkpoint_close(CheckpointFile *f);

/* STATUS_USER naming everything in which 'wanted' differs from what was saved. */
int checkpoint_match(const CheckpointFile *f, const Checkpoint *wanted, Error *e);

/* Parameters and moments into WEIGHTS and TRAIN.  The tokenizer: tokenizer_load on f->file. */
int checkpoint_read(const CheckpointFile *f, const strata_model *m, float *weights, float *train,
                    Error *e);

#endif
