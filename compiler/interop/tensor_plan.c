/* SPDX-License-Identifier: MIT
** Plans as data; see tensor_plan.h.  plan_write is in tensor_copy.c.
*/
#include "tensor_plan.h"
#include "array.h"

#include <stdlib.h>
#include <string.h>

/* == Views ================================================================ */

static const char *path_of(const TensorView *v) { return v->from ? v->from->file->path : "plan"; }
static const char *plan_name_of(const TensorView *v) {
    return v->from ? v->from->tensor->name : "constant";
}

static int plan_wrong(const TensorView *v, const char *expected, Error *e) {
    char shape[200];
    return error_set(e, STATUS_USER, "%s:%s: expected %s, found the shape %s", path_of(v),
                     plan_name_of(v), expected, shape_print(shape, v->rank, v->shape));
}

static void set_shape(TensorView *v, int rank, const int64_t *shape) {
    v->rank = rank;
    memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
}

/* Row-major over its shape. */
static void set_dense(TensorView *v) {
    int64_t stride = 1;
    v->dims = v->rank;
    for (int d = v->rank - 1; d >= 0; d--) {
        v->dim[d] = v->shape[d];
        v->stride[d] = v->from || v->fill ? stride : 0;
        stride *= v->shape[d];
    }
}

bool dtype_is_integer(Dtype d) { return d == DTYPE_I32 || d == DTYPE_I64; }

static bool plan_count_of(int rank, const int64_t *shape, int64_t *count) {
    *count = 1;
    for (int d = 0; d < rank; d++)
        if (shape[d] < 1 || __builtin_mul_overflow(*count, shape[d], count)
            || *count > INT64_C(1) << 48)
            return false;
    return true;
}

int view_stored(TensorView *v, const StoredTensor *from, Error *e) {
    const Tensor *t = from->tensor;
    int64_t count;
    *v = (TensorView){ .from = from, .times = 1 };
    set_shape(v, t->rank, t->shape);
    set_dense(v);
    if (t->dtype != DTYPE_F32 && t->dtype != DTYPE_BF16 && t->dtype != DTYPE_F16
        && !dtype_is_integer(t->dtype))
        return error_set(e, STATUS_USER, "%s:%s: expected F32, BF16, F16, I32 or I64, found %s",
                         from->file->path, t->name, dtype_name(t->dtype));
    if (!plan_count_of(v->rank, v->shape, &count)) return plan_wrong(v, "at least one element", e);
    return STATUS_OK;
}

int view_constant(TensorView *v, double value, int rank, const int64_t *shape, Error *e) {
    int64_t count;
    *v = (TensorView){ .plus = value };
    if (rank > SAFETENSORS_RANK) rank = SAFETENSORS_RANK;
    set_shape(v, rank, shape);
    if (!plan_count_of(rank, shape, &count) || count > 1 << 24)
        return plan_wrong(v, "1 to 2^24 elements", e);
    set_dense(v);
    return STATUS_OK;
}

int view_filled(TensorView *v, PlanFill *fill, const void *user, int rank, const int64_t *shape,
                Error *e) {
    int64_t count;
    *v = (TensorView){ .fill = fill, .user = user, .times = 1 };
    set_shape(v, rank, shape);
    if (!plan_count_of(rank, shape, &count)) return plan_wrong(v, "at least one element", e);
    set_dense(v);
    return STATUS_OK;
}

int view_slice(TensorView *v, int axis, int64_t first, int64_t count, Error *e) {
    if (v->regrouped) return plan_wrong(v, "no slice of a transposed and reshaped tensor", e);
    if (axis < 0 || axis >= v->rank) return plan_wrong(v, "an axis of the tensor to slice", e);
    if (first < 0 || count < 1 || count > v->shape[axis] || first > v->shape[axis] - count)
        return plan_wrong(v, "a slice inside the tensor", e);
    v->offset += first * v->stride[axis];
    v->shape[axis] = v->dim[axis] = count;
    return STATUS_OK;
}

int view_transpose(TensorView *v, const int *axis, int axes, Error *e) {
    TensorView old = *v;
    bool seen[SAFETENSORS_RANK] = { 0 };
    if (v->regrouped)
        return plan_wrong(v, "no transposition of a transposed and reshaped tensor", e);
    if (axes != v->rank) return plan_wrong(v, "as many axes to transpose as the tensor has", e);
    for (int d = 0; d < axes; d++) {
        if (axis[d] < 0 || axis[d] >= axes || seen[axis[d]])
            return plan_wrong(v, "each axis once to transpose", e);
        seen[axis[d]] = true;
        v->shape[d] = v->dim[d] = old.dim[axis[d]];
        v->stride[d] = old.stride[axis[d]];
    }
    return STATUS_OK;
}

/* Strides of the same elements under another shape; false: there are none.  Groups of old and new
** axes have equal products; old ones of a group must lie one behind the other. */
static bool restride(const TensorView *v, int rank, const int64_t *shape, int64_t *stride) {
    int i = 0, j = 0;
    while (i < v->dims && j < rank) {
        int first = i, to = j;
        int64_t olds = v->dim[i++], news = shape[j++];
        while (olds != news)
            if (olds < news && i < v->dims) olds *= v->dim[i++];
            else if (news < olds && j < rank) news *= shape[j++];
            else return false;
        for (int k = first; k + 1 < i; k++)
            if (v->stride[k] != v->stride[k + 1] * v->dim[k + 1]) return false;
        int64_t step = v->stride[i - 1];
        for (int k = j - 1; k >= to; k--) {
            stride[k] = step;
            step *= shape[k];
        }
    }
    for (; i < v->dims; i++)
        if (v->dim[i] != 1) return false;
    for (; j < rank; j++) {
        if (shape[j] != 1) return false;
        stride[j] = 0;
    }
    return true;
}

int view_reshape(TensorView *v, int rank, const int64_t *shape, Error *e) {
    int64_t olds, news, stride[SAFETENSORS_RANK];
    char text[200], expected[240];
    if (rank > SAFETENSORS_RANK || !plan_count_of(v->rank, v->shape, &olds)
        || !plan_count_of(rank, shape, &news) || olds != news) {
        if (rank > SAFETENSORS_RANK) rank = SAFETENSORS_RANK;
        print_text(expected, sizeof expected, "as many elements as %s has",
                   shape_print(text, rank, shape));
        return plan_wrong(v, expected, e);
    }
    if (restride(v, rank, shape, stride)) {
        v->dims = rank;
        memcpy(v->dim, shape, (size_t)rank * sizeof *shape);
        memcpy(v->stride, stride, (size_t)rank * sizeof *stride);
        v->regrouped = false;
    } else {
        v->regrouped = true;
    }
    set_shape(v, rank, shape);
    return STATUS_OK;
}

void view_calculate(TensorView *v, double times, double plus) {
    v->times *= times;
    v->plus = v->plus * times + plus;
}

/* == Plans ================================================================ */

static Dtype kept_dtype(const TensorView *piece, int pieces) {
    for (int i = 0; i < pieces; i++)
        if (!piece[i].from || piece[i].times != 1 || piece[i].plus != 0
            || piece[i].from->tensor->dtype != piece->from->tensor->dtype)
            return DTYPE_F32;
    return dtype_is_integer(piece->from->tensor->dtype) ? DTYPE_F32 : piece->from->tensor->dtype;
}

/* The shape of pieces joined along the axis. */
static int plan_join(PlannedTensor *t, const TensorView *piece, Error *e) {
    t->rank = piece->rank;
    memcpy(t->shape, piece->shape, sizeof t->shape);
    if (t->axis < 0 || (t->axis >= t->rank && t->pieces > 1))
        return plan_wrong(piece, "an axis of the tensors to join along", e);
    for (int i = 1; i < t->pieces; i++) {
        if (piece[i].rank != t->rank)
            return plan_wrong(&piece[i], "tensors of one rank to join", e);
        if (t->axis && (piece[i].regrouped || piece[0].regrouped))
            return plan_wrong(&piece[i], "no transposed and reshaped tensors to join", e);
        for (int d = 0; d < t->rank; d++)
            if (d != t->axis && piece[i].shape[d] != t->shape[d])
                return plan_wrong(&piece[i], "tensors that differ along one axis to join", e);
        if (__builtin_add_overflow(t->shape[t->axis], piece[i].shape[t->axis], &t->shape[t->axis]))
            return plan_wrong(&piece[i], "a size that can be counted", e);
    }
    return STATUS_OK;
}

static int plan_make_room(TensorPlan *p, Error *e) {
    if (p->count < p->room) return STATUS_OK;
    if (p->count == SAFETENSORS_TENSORS)
        return error_set(e, STATUS_LIMIT, "plan: expected at most %d tensors, found more",
                         SAFETENSORS_TENSORS);
    if (ARRAY_ROOM(p->tensor, p->count, p->room, 256)) return STATUS_OK;
    return error_memory(e, "plan", 2 * (size_t)p->room * sizeof *p->tensor);
}

int plan_add(TensorPlan *p, const char *name, const TensorView *piece, int pieces, int axis,
             bool keep, Error *e) {
    int status = plan_make_room(p, e);
    if (status) return status;
    PlannedTensor t = { .pieces = pieces, .axis = axis };
    t.dtype = keep ? kept_dtype(piece, pieces) : DTYPE_F32;
    status = plan_join(&t, piece, e);
    if (status) return status;
    t.name = strdup(name);
    t.piece = malloc((size_t)pieces * sizeof *piece);
    if (!t.name || !t.piece) {
        free(t.name);
        free(t.piece);
        return error_memory(e, name, (size_t)pieces * sizeof *piece);
    }
    memcpy(t.piece, piece, (size_t)pieces * sizeof *piece);
    p->tensor[p->count++] = t;
    return STATUS_OK;
}

static void free_tensor(PlannedTensor *t) {
    free(t->name);
    free(t->piece);
}

void plan_free(TensorPlan *p) {
    for (int32_t i = 0; i < p->count; i++)
        free_tensor(&p->tensor[i]);
    free(p->tensor);
    *p = (TensorPlan){ 0 };
}

void plan_remove(TensorPlan *p, const bool *gone) {
    int32_t count = 0;
    for (int32_t i = 0; i < p->count; i++)
        if (gone[i]) free_tensor(&p->tensor[i]);
        else p->tensor[count++] = p->tensor[i];
    p->count = count;
}

const PlannedTensor *plan_find(const TensorPlan *p, const char *name) {
    for (int32_t i = 0; i < p->count; i++)
        if (!strcmp(p->tensor[i].name, name)) return &p->tensor[i];
    return NULL;
}
