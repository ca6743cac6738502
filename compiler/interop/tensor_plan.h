/* SPDX-License-Identifier: MIT
** A plan of tensors: each tensor of an output file, described as views of stored tensors.  A plan
** is data.  Importers make it (our tensors from a checkpoint's), and nothing is read before
** plan_write, which streams: whatever the sizes of the tensors, it uses PLAN_BLOCK bytes for
** output and as many for input.
**
** A view is a set of elements of one stored tensor, in an order given by strides: slices,
** transpositions and most reshapes are views.  A planned tensor is one view, or several joined
** along an axis.  Element i of a view is times x + plus, computed in float32 from the stored x.
**
** Errors are "FILE:TENSOR: expected ..., found ...".
*/
#ifndef STRATA_TENSOR_PLAN_H
#define STRATA_TENSOR_PLAN_H

#include "checkpoint_folder.h"

enum { PLAN_BLOCK = 8 << 20, PLAN_PIECES = 4096 };

/* Values of what is stored nowhere: n of them, from element 'first' on. */
typedef void PlanFill(const void *user, int64_t first, int64_t n, float *out);

typedef struct TensorView {
    const StoredTensor *from; /* NULL: made by 'fill', or a constant, 'plus' everywhere */
    PlanFill *fill;
    const void *user; /* of fill */
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    /* The order: row-major over 'dims' axes; the same as the shape unless 'regrouped', when it is
    ** the same elements in the same order under another shape. */
    int dims;
    int64_t dim[SAFETENSORS_RANK], stride[SAFETENSORS_RANK], offset;
    bool regrouped;
    double times, plus;
} TensorView;

/* Types whose values are taken as float32, and refused where they are none. */
bool dtype_is_integer(Dtype d);

/* The whole tensor; refused unless F32, BF16, F16, I32 or I64. */
int view_stored(TensorView *v, const StoredTensor *from, Error *e);
int view_constant(TensorView *v, double value, int rank, const int64_t *shape, Error *e);
/* A whole tensor, which is not changed and not joined with others. */
int view_filled(TensorView *v, PlanFill *fill, const void *user, int rank, const int64_t *shape,
                Error *e);
/* Axes count from 0.  Views of regrouped views, but for reshapes, are refused. */
int view_slice(TensorView *v, int axis, int64_t first, int64_t count, Error *e);
int view_transpose(TensorView *v, const int *axis, int axes, Error *e);
int view_reshape(TensorView *v, int rank, const int64_t *shape, Error *e);
void view_calculate(TensorView *v, double times, double plus);

typedef struct PlannedTensor {
    char *name;
    Dtype dtype; /* F32, or the type of floats that all its views are stored as */
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    int axis; /* along which pieces are joined */
    TensorView *piece;
    int pieces;
} PlannedTensor;

typedef struct TensorPlan {
    PlannedTensor *tensor;
    int32_t count, room;
} TensorPlan;

/* Adds a tensor; views are copied.  keep: in the type of what is stored where that is one type and
** nothing is calculated, else in float32. */
int plan_add(TensorPlan *p, const char *name, const TensorView *piece, int pieces, int axis,
             bool keep, Error *e);
void plan_free(TensorPlan *p);
void plan_remove(TensorPlan *p, const bool *gone);                     /* [count] */
const PlannedTensor *plan_find(const TensorPlan *p, const char *name); /* NULL: none; linear */

/* Writes all tensors, in the plan's order, as a safetensors file with a checksum.  Values that are
** not finite are refused. */
int plan_write(const TensorPlan *p, const char *path, Error *e);
/* The same with metadata, into an output that the caller commits. */
int plan_fill(const TensorPlan *p, Output *to, const Pair *metadata, int32_t pairs, Error *e);

/* A tensor's values in float32, block by block, in order. */
typedef int PlanPut(void *user, const float *x, int64_t n, Error *e);
int plan_stream(const PlannedTensor *t, PlanPut *put, void *user, Error *e);

/* Fails unless two stored tensors have one shape and equal values. */
int plan_compare(const StoredTensor *a, const StoredTensor *b, Error *e);

#endif
