/* SPDX-License-Identifier: MIT
** Checkpoints of training: one safetensors file with the parameters under their own
** names, optimizer.m.* and optimizer.v.*, the tokenizer, and in the metadata everything
** that decides the next bit.  Equal states are equal files: no dates, fixed order.
** FILE is replaced atomically and the one before is FILE.prev; a process killed at any
** moment leaves at least one of them valid.  The whole file has a checksum.
** A file of weights has the same metadata and no moments: no run goes on from it.
*/
#ifndef STRATA_CHECKPOINT_H
#define STRATA_CHECKPOINT_H

#include "abi.h"
#include "error.h"
#include "tokenizer.h"

#define CHECKPOINT_VERSION 1

/* Everything but the tensors, by the rows of checkpoint.def. */
typedef struct Checkpoint {
#define FIELD(type, name, compared, start) type name;
#define TEXT(name, size, compared, start) char name[size];
#include "checkpoint.def"
    /* JSON, what was typed: {"data": […], "val": […], "field": "", "bos": "no"}; its text is
    ** the caller's or the file's; NULL: not told */
    const char *words;
    const char *options; /* the spec's, JSON; NULL: it has none */
} Checkpoint;

/* What follows from the model, and the beginning of a run. */
void checkpoint_defaults(Checkpoint *c, const strata_model *m);
/* Takes up where a saved run stands. */
void checkpoint_progress(Checkpoint *c, const Checkpoint *saved);

/* Sets c->run: the same for runs whose every state is the same, as they agree in what --resume
** compares and in the weights that they begin with. */
void checkpoint_run(Checkpoint *c, const strata_model *m, const float *weights);
/* Were all of its steps made? */
bool checkpoint_done(const Checkpoint *c);

/* Saves; what was at 'path' becomes path.prev.  train: the TRAIN region (gradients are not saved).
** tokenizer may be NULL. */
int checkpoint_save(const char *path, const strata_model *m, const float *weights,
                    const float *train, const Tokenizer *tokenizer, const Checkpoint *c, Error *e);

/* Saves the weights alone. keep: what was at 'path' becomes path.prev; else it is gone. */
int checkpoint_save_weights(const char *path, const strata_model *m, const float *weights,
                            const Tokenizer *tokenizer, const Checkpoint *c, bool keep, Error *e);

/* What a file says of the run that made it, whether it has moments or not; false: nothing.  Its
** words are the file's. */
bool checkpoint_about(const Safetensors *s, Checkpoint *c);

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
