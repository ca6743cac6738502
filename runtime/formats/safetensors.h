/* SPDX-License-Identifier: MIT
** safetensors: 8 bytes of header length, a JSON header, tensor data.
** The reader trusts nothing: everything in the header is checked before anything is
** allocated by it, on a private copy; data is read with pread, so a file that shrinks
** underfoot is an error and not a signal.
** The writer is deterministic: equal calls give equal bytes.
*/
#ifndef STRATA_SAFETENSORS_H
#define STRATA_SAFETENSORS_H

#include "error.h"
#include "files.h"
#include "json.h"
#include "file_limits.h"

/* The "format" in the metadata of what train writes: with the optimizer's moments, and without. */
#define CHECKPOINT_FORMAT "strata checkpoint"
#define WEIGHTS_FORMAT "strata weights"

typedef enum Dtype {
    DTYPE_BOOL,
    DTYPE_U8,
    DTYPE_I8,
    DTYPE_F8_E4M3,
    DTYPE_F8_E5M2,
    DTYPE_U16,
    DTYPE_I16,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_U32,
    DTYPE_I32,
    DTYPE_F32,
    DTYPE_U64,
    DTYPE_I64,
    DTYPE_F64,
    DTYPES
} Dtype;
const char *dtype_name(Dtype d); /* "F32" */
int dtype_size(Dtype d);         /* bytes */

typedef struct Tensor {
    const char *name;
    Dtype dtype;
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    int64_t count;      /* elements */
    uint64_t at, bytes; /* in the file */
} Tensor;

/* A shape, and index i of a tensor, as "[3,5]"; what it is printed to. */
enum { TENSOR_TEXT = 200 };
char *shape_print(char to[TENSOR_TEXT], int rank, const int64_t *shape);
char *tensor_place(char to[TENSOR_TEXT], const Tensor *t, int64_t i);

typedef struct Safetensors {
    char *path;
    Input in;
    Json header;
    Tensor *tensor; /* by name, ascending bytes */
    int32_t count;
    uint64_t data; /* where the tensor data starts */
} Safetensors;

/* Opens and checks a file.  On failure nothing stays open or allocated. */
int safetensors_open(Safetensors *s, const char *path, Error *e);
void safetensors_close(Safetensors *s); /* harmless on {0} and twice */
const Tensor *safetensors_find(const Safetensors *s, const char *name);  /* NULL: none */
const char *safetensors_metadata(const Safetensors *s, const char *key); /* NULL: none */

/* The tensor, converted: F64 F32 F16 BF16 to float or double (NaN and infinities, also
** those that conversion makes, are errors naming tensor and index); I32 and I64 to int32
** (out of range: an error).  Other types are errors.  'out' has t->count elements. */
int safetensors_read_f32(const Safetensors *s, const Tensor *t, float *out, Error *e);
int safetensors_read_f64(const Safetensors *s, const Tensor *t, double *out, Error *e);
/* 'count' of its elements from 'first' on. */
int safetensors_read_some_f32(const Safetensors *s, const Tensor *t, int64_t first, int64_t count,
                              float *out, Error *e);
/* Rounded to bfloat16: nearest, ties to even; what that makes infinite is an error. */
int safetensors_read_bf16(const Safetensors *s, const Tensor *t, uint16_t *out, Error *e);
int safetensors_read_i32(const Safetensors *s, const Tensor *t, int32_t *out, Error *e);

/* If the metadata has a "checksum" (see safetensors_write), the file's bytes must agree.
** *found, if not NULL, tells whether there was one. */
int safetensors_verify(const Safetensors *s, bool *found, Error *e);

/*
** Writing.  A list of tensors that point into the caller's memory; names are copied.
** Start from {0}.
*/
typedef struct TensorOut {
    char *name;
    Dtype dtype;
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    const void *data;
} TensorOut;

typedef struct TensorList {
    TensorOut *item;
    int32_t count, room;
} TensorList;

/* Adds a tensor called PREFIX NAME (prefix may be ""). */
int tensors_add(TensorList *l, const char *prefix, const char *name, Dtype dtype, int rank,
                const int64_t *shape, const void *data, Error *e);
void tensors_free(TensorList *l);

typedef struct Pair {
    const char *key, *value;
} Pair; /* of the metadata */

enum {
    SAFETENSORS_CHECKSUM =
        1, /* adds metadata "checksum": XXH64 of the file with zeros in its place */
    SAFETENSORS_PREVIOUS = 2
}; /* keeps the file that was there as PATH.prev */

/* Writes atomically (files.h).  Tensors go in the given order, wider element types
** first, so that every tensor is aligned; metadata in the given order. */
int safetensors_write(const char *path, const TensorList *l, const Pair *metadata, int32_t pairs,
                      int flags, Error *e);

/* The same for tensors that are never in memory whole: where a tensor's data is NULL, 'produce' is
** called once, with its index in the list, and hands on all its bytes in order (tensor_put). */
typedef struct TensorSink TensorSink;
typedef int TensorProducer(void *user, int32_t index, TensorSink *to, Error *e);
int tensor_put(TensorSink *to, const void *bytes, size_t n, Error *e);
/* Into an output that the caller commits. */
typedef struct TensorsFrom {
    TensorProducer *produce;
    void *user;
} TensorsFrom;
int safetensors_fill(Output *to, const TensorList *l, const TensorsFrom *from, const Pair *metadata,
                     int32_t pairs, int flags, Error *e);
int safetensors_write_from(const char *path, const TensorList *l, TensorProducer *produce,
                           void *user, const Pair *metadata, int32_t pairs, int flags, Error *e);

#endif
