/* SPDX-License-Identifier: MIT
** Executes plans: writes blocks of an output tensor in order, each gathered from its views.  A
** block is a box of the tensor that is contiguous in the file.  What a box takes from a view is
** read at once if it is contiguous, and otherwise in runs: a transposed matrix is read in runs as
** long as the box is wide.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "f16.h"
#include "tensor_plan.h"

enum { ROOM = PLAN_BLOCK / sizeof(float), NEAR = 16 };

typedef struct Mover {
    const PlannedTensor *t;
    float *block;        /* of the output, ROOM elements */
    unsigned char *read; /* of the input, PLAN_BLOCK bytes */
    TensorSink *to;
    int (*put)(struct Mover *m, int64_t n, Error *e); /* the block's first n */
    PlanPut *take;                                    /* of put_values */
    void *user;
} Mover;

/* Part of a view: by axis, elements, strides in the file and in the block. */
typedef struct ViewBox {
    const TensorView *v;
    int64_t at;
    int dims;
    int64_t n[SAFETENSORS_RANK], from[SAFETENSORS_RANK], to[SAFETENSORS_RANK];
} ViewBox;

/* == Elements ============================================================= */

/* An integer as a float; one that no float is: not a number. */
static float copy_integer(Dtype d, const unsigned char *raw, int64_t i) {
    int32_t small;
    int64_t x;
    if (d == DTYPE_I64) memcpy(&x, raw + 8 * i, 8);
    else memcpy(&small, raw + 4 * i, 4), x = small;
    return x >= -(1 << 24) && x <= 1 << 24 ? (float)x : NAN;
}

static float copy_element(Dtype d, const unsigned char *raw, int64_t i) {
    uint16_t h;
    float f;
    if (d == DTYPE_F32) {
        memcpy(&f, raw + 4 * i, 4);
        return f;
    }
    if (dtype_is_integer(d)) return copy_integer(d, raw, i);
    memcpy(&h, raw + 2 * i, 2);
    return d == DTYPE_BF16 ? bf16_value(h) : f16_value(h);
}

static int not_finite(const TensorView *v, int64_t i, float x, Error *e) {
    char number[32];
    if (dtype_is_integer(v->from->tensor->dtype))
        return error_set(e, STATUS_USER,
                         "%s:%s: expected integers of at most 2^24, found another at element %lld",
                         v->from->file->path, v->from->tensor->name, (long long)i);
    return error_set(e, STATUS_USER, "%s:%s: expected a finite value at element %lld, found %s",
                     v->from->file->path, v->from->tensor->name, (long long)i,
                     print_double(number, (double)x));
}

/* n elements 'from' apart that begin at 'raw', element 'at' of the tensor, to places 'to' apart. */
static int copy_decode(const TensorView *v, const unsigned char *raw, int64_t at, int64_t n,
                       int64_t from, int64_t to, float *out, Error *e) {
    Dtype d = v->from->tensor->dtype;
    bool same = v->times == 1 && v->plus == 0;
    for (int64_t i = 0; i < n; i++) {
        float x = copy_element(d, raw, i * from);
        float y = same ? x : (float)(v->times * (double)x + v->plus);
        if (!isfinite(y)) return not_finite(v, at + i * from, y, e);
        out[i * to] = y;
    }
    return STATUS_OK;
}

/* == Boxes ================================================================ */

static int read_elements(const TensorView *v, int64_t at, int64_t n, void *to, Error *e) {
    const Tensor *t = v->from->tensor;
    int64_t size = dtype_size(t->dtype);
    return input_read(&v->from->file->in, t->at + (uint64_t)(at * size), to, (size_t)(n * size), e);
}

/* The axis with the shortest stride of those with more than one element; -1: there is none. */
static int inner_axis(const ViewBox *b) {
    int best = -1;
    for (int d = 0; d < b->dims; d++)
        if (b->n[d] > 1 && (best < 0 || b->from[d] < b->from[best])) best = d;
    return best;
}

/* Elements of the file between the first and the last of a box, these included. */
static int64_t span_of(const ViewBox *b, int64_t *count) {
    int64_t span = 1;
    *count = 1;
    for (int d = 0; d < b->dims; d++) {
        span += (b->n[d] - 1) * b->from[d];
        *count *= b->n[d];
    }
    return span;
}

/* Moves a box run by run along one axis.  near: element 'base' of the file and those after it are
** in m->read already. */
static int move_runs(Mover *m, const ViewBox *b, int run, int64_t base, bool near, float *out,
                     Error *e) {
    int64_t index[SAFETENSORS_RANK] = { 0 }, size = dtype_size(b->v->from->tensor->dtype);
    int64_t n = run < 0 ? 1 : b->n[run], step = run < 0 ? 1 : b->from[run];
    for (int d = 0; d >= 0;) {
        int64_t at = b->at, to = 0;
        for (int k = 0; k < b->dims; k++) {
            at += index[k] * b->from[k];
            to += index[k] * b->to[k];
        }
        const unsigned char *raw = near ? m->read + (at - base) * size : m->read;
        int status = near ? STATUS_OK : read_elements(b->v, at, (n - 1) * step + 1, m->read, e);
        if (!status)
            status = copy_decode(b->v, raw, at, n, step, run < 0 ? 0 : b->to[run], out + to, e);
        if (status) return status;
        for (d = b->dims - 1; d >= 0; d--) {
            if (d == run) continue;
            if (++index[d] < b->n[d]) break;
            index[d] = 0;
        }
    }
    return STATUS_OK;
}

/* A box one element of an axis at a time. */
static int move_slices(Mover *m, const ViewBox *b, int axis, float *out, Error *e) {
    ViewBox one = *b;
    one.n[axis] = 1;
    int status = STATUS_OK;
    for (int64_t i = 0; i < b->n[axis] && !status; i++) {
        one.at = b->at + i * b->from[axis];
        status = move_runs(m, &one, -1, 0, false, out + i * b->to[axis], e);
    }
    return status;
}

static int move_box(Mover *m, const ViewBox *b, float *out, Error *e) {
    int64_t count, span = span_of(b, &count), size = dtype_size(b->v->from->tensor->dtype);
    int run = inner_axis(b);
    if (span <= 2 * count && span * size <= PLAN_BLOCK) {
        int status = read_elements(b->v, b->at, span, m->read, e);
        return status ? status : move_runs(m, b, run, b->at, true, out, e);
    }
    int64_t length = run < 0 ? 1 : (b->n[run] - 1) * b->from[run] + 1;
    if (run >= 0 && (b->from[run] > NEAR || length * size > PLAN_BLOCK))
        return move_slices(m, b, run, out, e);
    return move_runs(m, b, run, 0, false, out, e);
}

static int move_constant(const ViewBox *b, float *out) {
    int64_t index[SAFETENSORS_RANK] = { 0 };
    for (int d = 0; d >= 0;) {
        int64_t to = 0;
        for (int k = 0; k < b->dims; k++)
            to += index[k] * b->to[k];
        out[to] = (float)b->v->plus;
        for (d = b->dims - 1; d >= 0; d--) {
            if (++index[d] < b->n[d]) break;
            index[d] = 0;
        }
    }
    return STATUS_OK;
}

/* == Tensors ============================================================== */

/* Views that are joined along an axis, over which boxes are laid. */
typedef struct Joined {
    const TensorView *piece;
    int pieces, axis, dims;
} Joined;

/* What piece v, whose first element along the axis is number 'before', has of a box: *to is where
** that begins in the block; false: nothing. */
static bool copy_part_of(const Joined *j, const TensorView *v, int64_t before, const int64_t *start,
                         const int64_t *size, ViewBox *b, int64_t *to) {
    *b = (ViewBox){ .v = v, .at = v->offset, .dims = j->dims };
    *to = 0;
    int64_t step = 1;
    for (int d = j->dims - 1; d >= 0; d--) {
        int64_t shift = d == j->axis ? before : 0, first = start[d] - shift;
        int64_t last = first + size[d] < v->dim[d] ? first + size[d] : v->dim[d];
        int64_t skipped = first < 0 ? -first : 0;
        first += skipped;
        if (last <= first) return false;
        b->n[d] = last - first;
        b->from[d] = v->stride[d];
        b->to[d] = step;
        b->at += first * v->stride[d];
        *to += skipped * step;
        step *= size[d];
    }
    return true;
}

static int move_block(Mover *m, const Joined *j, const int64_t *start, const int64_t *size,
                      int64_t count, Error *e) {
    int64_t before = 0, to;
    int status = STATUS_OK;
    for (int i = 0; i < j->pieces && !status; i++) {
        const TensorView *v = &j->piece[i];
        ViewBox b;
        if (copy_part_of(j, v, before, start, size, &b, &to))
            status = v->from ? move_box(m, &b, m->block + to, e)
                : v->fill    ? (v->fill(v->user, b.at, count, m->block), STATUS_OK)
                             : move_constant(&b, m->block + to);
        if (j->dims) before += v->dim[j->axis];
    }
    return status ? status : m->put(m, count, e);
}

/* Cuts what is too large for a block along its outer axes, from 'axis' on. */
static int move_region(Mover *m, const Joined *j, const int64_t *start, const int64_t *size,
                       int axis, Error *e) {
    int64_t count = 1, at[SAFETENSORS_RANK], part[SAFETENSORS_RANK];
    for (int d = 0; d < j->dims; d++) {
        count *= size[d];
        at[d] = start[d];
        part[d] = size[d];
    }
    if (count <= ROOM) return move_block(m, j, start, size, count, e);
    int64_t inner = count / size[axis], step = inner < ROOM ? ROOM / inner : 1;
    int status = STATUS_OK;
    for (int64_t i = 0; i < size[axis] && !status; i += step) {
        at[axis] = start[axis] + i;
        part[axis] = size[axis] - i < step ? size[axis] - i : step;
        status = move_region(m, j, at, part, axis + 1, e);
    }
    return status;
}

static int move_joined(Mover *m, const Joined *j, Error *e) {
    int64_t start[SAFETENSORS_RANK] = { 0 }, size[SAFETENSORS_RANK];
    memcpy(size, j->piece->dim, sizeof size);
    for (int i = 1; i < j->pieces; i++)
        size[j->axis] += j->piece[i].dim[j->axis];
    return move_region(m, j, start, size, 0, e);
}

/* Views joined along the first axis follow one another, whatever their order inside. */
static int move_tensor(Mover *m, Error *e) {
    const PlannedTensor *t = m->t;
    if (t->axis) return move_joined(m, &(Joined){ t->piece, t->pieces, t->axis, t->rank }, e);
    int status = STATUS_OK;
    for (int i = 0; i < t->pieces && !status; i++)
        status = move_joined(m, &(Joined){ &t->piece[i], 1, 0, t->piece[i].dims }, e);
    return status;
}

/* == Files ================================================================ */

static int put_file(Mover *m, int64_t n, Error *e) {
    uint16_t *narrow = (uint16_t *)m->read;
    if (m->t->dtype == DTYPE_F32) return tensor_put(m->to, m->block, (size_t)n * sizeof(float), e);
    for (int64_t i = 0; i < n; i++)
        narrow[i] = m->t->dtype == DTYPE_BF16 ? bf16_of(m->block[i]) : f16_exactly(m->block[i]);
    return tensor_put(m->to, narrow, (size_t)n * sizeof *narrow, e);
}

typedef struct Writing {
    const TensorPlan *plan;
    Mover mover;
} Writing;

static int produce(void *user, int32_t index, TensorSink *to, Error *e) {
    Writing *w = user;
    w->mover.t = &w->plan->tensor[index];
    w->mover.to = to;
    int status = move_tensor(&w->mover, e);
    for (int i = 0; i < w->mover.t->pieces && !status; i++)
        if (w->mover.t->piece[i].from)
            status = input_unchanged(&w->mover.t->piece[i].from->file->in, e);
    return status;
}

int plan_fill(const TensorPlan *p, Output *to, const Pair *metadata, int32_t pairs, Error *e) {
    TensorList list = { 0 };
    Writing w = { .plan = p, .mover.put = put_file };
    w.mover.block = malloc(PLAN_BLOCK);
    w.mover.read = malloc(PLAN_BLOCK);
    int status = w.mover.block && w.mover.read ? STATUS_OK
                                               : error_memory(e, to->path, 2 * PLAN_BLOCK);
    for (int32_t i = 0; i < p->count && !status; i++) {
        const PlannedTensor *t = &p->tensor[i];
        status = tensors_add(&list, "", t->name, t->dtype, t->rank, t->shape, NULL, e);
    }
    const TensorsFrom from = { produce, &w };
    if (!status)
        status = safetensors_fill(to, &list, &from, metadata, pairs, SAFETENSORS_CHECKSUM, e);
    tensors_free(&list);
    free(w.mover.block);
    free(w.mover.read);
    return status;
}

int plan_write(const TensorPlan *p, const char *path, Error *e) {
    Output out;
    int status = output_open(&out, path, e);
    if (status) return status;
    status = plan_fill(p, &out, NULL, 0, e);
    if (status) return output_discard(&out), status;
    return output_commit(&out, false, e);
}

static int put_values(Mover *m, int64_t n, Error *e) { return m->take(m->user, m->block, n, e); }

int plan_stream(const PlannedTensor *t, PlanPut *put, void *user, Error *e) {
    Mover m = { .t = t, .put = put_values, .take = put, .user = user };
    m.block = malloc(PLAN_BLOCK);
    m.read = malloc(PLAN_BLOCK);
    int status = m.block && m.read ? move_tensor(&m, e) : error_memory(e, t->name, 2 * PLAN_BLOCK);
    for (int i = 0; i < t->pieces && !status; i++)
        if (t->piece[i].from) status = input_unchanged(&t->piece[i].from->file->in, e);
    free(m.block);
    free(m.read);
    return status;
}

/* == Equal tensors ======================================================== */

int plan_compare(const StoredTensor *a, const StoredTensor *b, Error *e) {
    enum { PIECE = 1 << 14 };
    TensorView x, y;
    float one[PIECE], other[PIECE];
    unsigned char raw[PIECE * sizeof(float)];
    int status = view_stored(&x, a, e);
    if (!status) status = view_stored(&y, b, e);
    if (status) return status;
    bool same = a->tensor->rank == b->tensor->rank
        && !memcmp(a->tensor->shape, b->tensor->shape, sizeof a->tensor->shape);
    for (int64_t at = 0; at < a->tensor->count && same && !status; at += PIECE) {
        int64_t n = a->tensor->count - at < PIECE ? a->tensor->count - at : PIECE;
        status = read_elements(&x, at, n, raw, e);
        if (!status) status = copy_decode(&x, raw, at, n, 1, 1, one, e);
        if (!status) status = read_elements(&y, at, n, raw, e);
        if (!status) status = copy_decode(&y, raw, at, n, 1, 1, other, e);
        if (!status) same = !memcmp(one, other, (size_t)n * sizeof *one);
    }
    if (status || same) return status;
    return error_set(e, STATUS_USER, "%s:%s: expected the values of '%s', found others",
                     a->file->path, a->tensor->name, b->tensor->name);
}
