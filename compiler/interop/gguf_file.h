/* SPDX-License-Identifier: MIT
** GGUF, version 3, the files of llama.cpp: metadata, descriptions of tensors, tensors that begin
** at multiples of 32 bytes. Everything is little-endian.
*/
#ifndef STRATA_GGUF_FILE_H
#define STRATA_GGUF_FILE_H

#include "json.h"
#include "tensor_plan.h"

typedef enum GgufType { GGUF_F32, GGUF_F16, GGUF_BF16, GGUF_Q8_0 } GgufType;

/* Metadata: pairs as they lie in the file. */
typedef struct Gguf {
    Text pairs;
    uint64_t count;
} Gguf;

void gguf_u32(Gguf *g, const char *key, uint32_t value);
void gguf_f32(Gguf *g, const char *key, float value);
void gguf_bool(Gguf *g, const char *key, bool value);
void gguf_string(Gguf *g, const char *key, const char *value);
/* A list: its items follow, as many as 'count'. */
void gguf_strings(Gguf *g, const char *key, uint64_t count);
void gguf_item(Gguf *g, const char *text, size_t length);
void gguf_f32s(Gguf *g, const char *key, const float *value, uint64_t count);
void gguf_i32s(Gguf *g, const char *key, const int32_t *value, uint64_t count);

/* Writes the planned tensors: those with two axes or more as 'type', rounded to nearest, ties to
** even (q8_0: in blocks of 32 that share a factor; rows that are no multiple of 32 as float16),
** the others as float32. A value that is too large for its type is an error that names the
** tensor. The file appears whole, by rename, and replaces another only with 'overwrite'. */
int gguf_write(const Gguf *g, const TensorPlan *plan, GgufType type, const char *path,
               bool overwrite, Error *e);
/* Reads such a file back: tensors must be those of the plan, to the precision of their types. */
int gguf_compare(const Gguf *g, const TensorPlan *plan, const char *path, Error *e);

#endif
