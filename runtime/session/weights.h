/* SPDX-License-Identifier: MIT
** The parameters of a model between its WEIGHTS and TRAIN regions and files.
** The descriptor's tensor table (abi.h) is the only source of names, places and types.
** Tensors that it has as bfloat16 are rounded (to nearest, ties to even) when they are set
** or read, and are written as BF16.
*/
#ifndef STRATA_WEIGHTS_H
#define STRATA_WEIGHTS_H

#include "abi.h"
#include "error.h"
#include "json.h"
#include "safetensors.h"

/* Initial values: a function of (seed, parameter's name, index) alone, so that models
** that share a parameter start alike. */
void weights_init(const strata_model *m, uint64_t seed, float *weights);

/* Those of a tensor, from number 'first' on. */
void weights_initial(const strata_model *m, const strata_tensor *t, uint64_t seed, int64_t first,
                     int64_t count, float *w);

/* Reads every parameter.  Unknown tensors (other than optimizer.* and tokenizer.*),
** missing ones and wrong shapes or types are one error that lists them; then come values
** that are not finite. */
int weights_read(const strata_model *m, const Safetensors *s, float *weights, Error *e);
/* STATUS_USER where options of the spec had other values when the file was trained, but for those
** that 'changed' names, with commas; NULL: none (trained_options.h). */
int weights_options(const strata_model *m, const Safetensors *s, const char *changed, Error *e);
/* Opens, verifies the checksum if there is one, compares the options, reads, closes. */
int weights_load(const strata_model *m, const char *path, float *weights, Error *e);
int weights_load_changed(const strata_model *m, const char *path, const char *changed,
                         float *weights, Error *e);

/* Names, as JSON strings with commas between; the first 'few' bytes are the first ones. */
typedef struct NameList {
    int32_t count;
    Text text;
    size_t few;
    int32_t told; /* how many those are */
} NameList;

/* What weights_take found: how many parameters it read, those that the file lacks, and tensors
** that the model lacks. */
typedef struct WeightsTaken {
    int32_t taken;
    NameList fresh, left;
} WeightsTaken;

/* The weights of this or another model: reads the parameters that are in the file with their shape,
** gives the others their initial values. A tensor of a parameter's name and another shape is an
** error that lists them, so is a file without any parameter of the model. */
int weights_take(const strata_model *m, const Safetensors *s, uint64_t seed, float *weights,
                 WeightsTaken *t, Error *e);
void weights_taken_free(WeightsTaken *t);

/* Where a tensor's gradient (part 0), first or second moment (1, 2) is in TRAIN, in floats; -1: it
** has none, as of buffers and what is frozen. */
int64_t weights_train_at(const strata_model *m, int32_t tensor, int part);

/* Adds every parameter to a list as PREFIX NAME, in table order.
** weights_list: from WEIGHTS.  weights_list_train: from TRAIN's 'part', of those that have it. */
int weights_list(TensorList *l, const strata_model *m, const char *prefix, const float *weights,
                 Error *e);
int weights_list_train(TensorList *l, const strata_model *m, const char *prefix, const float *train,
                       int part, Error *e);

/* The parameter that holds gradient index i (in TRAIN), for messages; *index
** is the element in it. */
const strata_tensor *weights_at_gradient(const strata_model *m, int64_t i, int64_t *index);

#endif
