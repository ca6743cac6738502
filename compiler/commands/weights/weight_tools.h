/* SPDX-License-Identifier: MIT
** Shared by the commands of strata weights.
*/
#ifndef STRATA_WEIGHT_TOOLS_H
#define STRATA_WEIGHT_TOOLS_H

#include "allowance.h"
#include "place.h"
#include "small_file.h"

/* A file being written, with the memory that its tensors lie in. */
typedef struct WeightOutput {
    TensorList list;
    void **memory;
    int blocks, room;
    Pair *metadata; /* the texts are the caller's */
    int pairs;
} WeightOutput;

/* weight_output.c */
void weight_output_free(WeightOutput *o);
/* The metadata: 'first', then what a file says that is made into the new one, its step and its run
** too; not what is about its form, or for who goes on with a run. */
int weight_output_about(WeightOutput *o, const Safetensors *s, const Pair *first, int pairs,
                        Error *e);
/* Memory that lasts as long as the output; NULL: there is none, as e says. */
void *weight_output_room(WeightOutput *o, const char *what, size_t bytes, Error *e);
/* Adds a tensor as it is in a file. */
int weight_output_copy(WeightOutput *o, const Safetensors *s, const Tensor *t, Error *e);
/* Writes what was added. */
int weight_output_write(const WeightOutput *o, const FilePlace *to, Error *e);

/* The step that the weights are of; false: they are not of a run. */
bool weight_file_step(const Safetensors *s, int64_t *step);

/* A file whose checksum, if it has one, is right. */
int weight_file_open(Safetensors *s, const char *path, Error *e);

/* weight_match.c: by number of a file's tensors, which parameter of the model each is; -1: none,
** but of a run. A parameter that is missing, has another shape or is rounded is an error, so is
** another tensor. */
int weight_file_match(const Safetensors *s, const Model *m, const char *spec, int *number,
                      Error *e);

/* weight_options.c: were the weights trained with the values that the spec's options have now, but
** for those that --changed names? */
int weight_file_options(const Safetensors *s, const Model *m, const Options *o, const char *spec,
                        Error *e);

/* weight_merge.c: folds the adapters of a spec with lora { } into the weights they adapt */
int weights_merge(const Options *o, const FilePlace *to, Allowance *a, Error *e);

#endif
