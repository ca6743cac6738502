/* SPDX-License-Identifier: MIT
** Files of weights that strata quantize made: matrices of small weights (small_weights.h), rounded
** once. NAME.weight of such a matrix has its codes, beside it are
**   NAME.weight.scale   F16 [rows, groups]: a group's scale
**   NAME.weight.least   F16 [rows, groups], of 4 bits: its smallest value
** with groups of GROUP along the last axis, of which the last one may be short. Codes are
**   8 bits   I8 [rows, steps], -127 ... 127: value = scale * code
**   4 bits   U8 [rows, steps / 2], of each byte the lower half first: value = scale * code + least
** where 'rows' may be several axes. A matrix of 4 bits with an odd number of steps is stored as it
** was; so is what is no matrix of products. The metadata say "format", "version", "group" and
** "weights": "q8", or "q4", which has matrices of 8 bits too.
*/
#ifndef STRATA_SMALL_FILE_H
#define STRATA_SMALL_FILE_H

#include "safetensors.h"
#include "small_round.h"

#define SMALL_FORMAT "strata small weights"
#define SMALL_VERSION "1"
#define SMALL_GROUP "32"
#define SMALL_SCALE ".scale"
#define SMALL_LEAST ".least"

/* "q8" or "q4". */
const char *small_name(int bits);

/* *bits: 8 or 4, as its metadata say; 0: it is a file of other weights. A version or groups that
** are not known are an error. */
int small_file_bits(const Safetensors *s, int *bits, Error *e);
/* An error if it is one of small weights. */
int small_file_refuse(const Safetensors *s, Error *e);

/* The metadata that make a file one of small weights. */
enum { SMALL_PAIRS = 4 };
void small_file_metadata(int bits, Pair pair[SMALL_PAIRS]);

/* A matrix of such a file; 'of': as if it was not rounded: its name, rank, shape and count. */
typedef struct SmallMatrix {
    Tensor of;
    int bits;
    int64_t steps, groups, rows;
    const Tensor *code, *scale, *least; /* least NULL: of 8 bits */
} SmallMatrix;

/* How many bits the codes have that a tensor is; 0: it is none of codes. */
int small_code_bits(const Tensor *t);
/* The matrix that a tensor has the codes of. What belongs to it and is missing, or of another
** shape or type, is an error that names it. */
int small_matrix(const Safetensors *s, const Tensor *code, SmallMatrix *m, Error *e);
/* Whose scales or smallest values a tensor has: the one with the codes; NULL: it has none. */
const Tensor *small_codes_of(const Safetensors *s, const Tensor *t);

/* Groups of rows, m->groups of each. A code, a scale or a smallest value that rounding does not
** make is an error that names its place. */
int small_matrix_rows(const Safetensors *s, const SmallMatrix *m, int64_t row, int64_t rows,
                      SmallGroup *g, Error *e);
/* Rounds a row, x[steps]. What no float16 holds is an error that names file, tensor and row. */
int small_round_row(const char *file, const char *name, int64_t row, int bits, const float *x,
                    int64_t steps, SmallGroup *g, Error *e);

/* The first n values of a group. */
void small_values(const SmallGroup *g, int bits, int64_t n, double *x);
/* A row's codes as they are stored, in steps * bits / 8 bytes. */
void small_pack(const SmallGroup *g, int64_t steps, int bits, uint8_t *to);

#endif
