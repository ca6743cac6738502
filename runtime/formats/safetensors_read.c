/* SPDX-License-Identifier: MIT
** Tensor data, converted while it is read, a piece at a time.
** Files are little-endian, and so is every machine that this is built for.
*/
#include <float.h>
#include <math.h>
#include <string.h>

#include "bf16.h"
#include "f16.h"
#include "safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensor data is read as it lies in the file");

enum { PIECE = 32768 }; /* bytes, a multiple of every element's size */

/* Element i of a piece.  Every float type fits a double exactly. */
static double read_element(Dtype d, const unsigned char *raw, size_t i) {
    uint16_t h;
    float f;
    double v;
    switch (d) {
    case DTYPE_F16: memcpy(&h, raw + 2 * i, 2); return (double)f16_value(h);
    case DTYPE_BF16: memcpy(&h, raw + 2 * i, 2); return bf16_value(h);
    case DTYPE_F32: memcpy(&f, raw + 4 * i, 4); return f;
    default: memcpy(&v, raw + 8 * i, 8); return v;
    }
}

static int64_t safetensors_read_integer(Dtype d, const unsigned char *raw, size_t i) {
    int32_t small;
    int64_t large;
    if (d == DTYPE_I32) {
        memcpy(&small, raw + 4 * i, 4);
        return small;
    }
    memcpy(&large, raw + 8 * i, 8);
    return large;
}

char *shape_print(char to[TENSOR_TEXT], int rank, const int64_t *shape) {
    int n = print_text(to, TENSOR_TEXT, "[");
    for (int d = 0; d < rank; d++)
        n += print_text(to + n, TENSOR_TEXT - (size_t)n, d ? ",%lld" : "%lld", (long long)shape[d]);
    print_text(to + n, TENSOR_TEXT - (size_t)n, "]");
    return to;
}

char *tensor_place(char to[TENSOR_TEXT], const Tensor *t, int64_t i) {
    int64_t index[SAFETENSORS_RANK];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = i % t->shape[d];
        i /= t->shape[d];
    }
    return shape_print(to, t->rank, index);
}

static int bad_element(const Safetensors *s, const Tensor *t, int64_t i, const char *expected,
                       const char *found, Error *e) {
    char where[TENSOR_TEXT];
    return error_set(e, STATUS_USER, "%s:%s%s: expected %s, found %s", s->path, t->name,
                     tensor_place(where, t, i), expected, found);
}

static int bad_float(const Safetensors *s, const Tensor *t, int64_t i, double v, const char *type,
                     Error *e) {
    char number[32], expected[40];
    print_text(expected, sizeof expected, isfinite(v) ? "a value that %s holds" : "a finite value",
               type);
    return bad_element(s, t, i, expected, print_double(number, v), e);
}

static bool is_float(Dtype d) {
    return d == DTYPE_F64 || d == DTYPE_F32 || d == DTYPE_F16 || d == DTYPE_BF16;
}

static int wrong_type(const Safetensors *s, const Tensor *t, const char *expected, Error *e) {
    return error_set(e, STATUS_USER, "%s:%s: expected %s, found %s", s->path, t->name, expected,
                     dtype_name(t->dtype));
}

/* Elements of the tensor from 'from' on, before 'end', at most PIECE bytes; how many in *n. */
static int read_next_piece(const Safetensors *s, const Tensor *t, int64_t from, int64_t end,
                           unsigned char raw[PIECE], int64_t *n, Error *e) {
    int64_t size = dtype_size(t->dtype), most = PIECE / size;
    *n = end - from < most ? end - from : most;
    return input_read(&s->in, t->at + (uint64_t)(from * size), raw, (size_t)(*n * size), e);
}

/* What floats are read as: its name, the largest double that it holds, rounded if need be, and
** how element i is set. */
typedef struct Conversion {
    const char *name;
    double most;
    void (*put)(void *out, int64_t i, double v);
} Conversion;

static void put_f64(void *out, int64_t i, double v) { ((double *)out)[i] = v; }
static void put_f32(void *out, int64_t i, double v) { ((float *)out)[i] = (float)v; }
static void put_bf16(void *out, int64_t i, double v) { ((uint16_t *)out)[i] = bf16_of((float)v); }

/* 'count' elements from 'first' on. */
static int read_some(const Safetensors *s, const Tensor *t, Conversion to, int64_t first,
                     int64_t count, void *out, Error *e) {
    unsigned char raw[PIECE];
    if (!is_float(t->dtype)) return wrong_type(s, t, "F32, F64, F16 or BF16", e);
    for (int64_t done = first, n; done < first + count; done += n) {
        int status = read_next_piece(s, t, done, first + count, raw, &n, e);
        if (status) return status;
        for (int64_t i = 0; i < n; i++) {
            double v = read_element(t->dtype, raw, (size_t)i);
            if (!(fabs(v) <= to.most)) return bad_float(s, t, done + i, v, to.name, e);
            to.put(out, done - first + i, v);
        }
    }
    return STATUS_OK;
}

static int read_floats(const Safetensors *s, const Tensor *t, Conversion to, void *out, Error *e) {
    return read_some(s, t, to, 0, t->count, out, e);
}

int safetensors_read_some_f32(const Safetensors *s, const Tensor *t, int64_t first, int64_t count,
                              float *out, Error *e) {
    return read_some(s, t, (Conversion){ "float32", FLT_MAX, put_f32 }, first, count, out, e);
}

int safetensors_read_f64(const Safetensors *s, const Tensor *t, double *out, Error *e) {
    return read_floats(s, t, (Conversion){ "float64", DBL_MAX, put_f64 }, out, e);
}

/* Straight into place: the usual case. */
static int read_same(const Safetensors *s, const Tensor *t, float *out, Error *e) {
    int status = input_read(&s->in, t->at, out, (size_t)t->bytes, e);
    for (int64_t i = 0; !status && i < t->count; i++)
        if (!isfinite(out[i])) return bad_float(s, t, i, out[i], "float32", e);
    return status;
}

int safetensors_read_f32(const Safetensors *s, const Tensor *t, float *out, Error *e) {
    if (t->dtype == DTYPE_F32) return read_same(s, t, out, e);
    return read_floats(s, t, (Conversion){ "float32", FLT_MAX, put_f32 }, out, e);
}

int safetensors_read_bf16(const Safetensors *s, const Tensor *t, uint16_t *out, Error *e) {
    return read_floats(s, t, (Conversion){ "bfloat16", BF16_MOST, put_bf16 }, out, e);
}

int safetensors_read_i32(const Safetensors *s, const Tensor *t, int32_t *out, Error *e) {
    unsigned char raw[PIECE];
    if (t->dtype != DTYPE_I32 && t->dtype != DTYPE_I64) return wrong_type(s, t, "I32 or I64", e);
    for (int64_t done = 0, n; done < t->count; done += n) {
        int status = read_next_piece(s, t, done, t->count, raw, &n, e);
        if (status) return status;
        for (int64_t i = 0; i < n; i++) {
            int64_t v = safetensors_read_integer(t->dtype, raw, (size_t)i);
            char number[32];
            if (v < INT32_MIN || v > INT32_MAX) {
                print_text(number, sizeof number, "%lld", (long long)v);
                return bad_element(s, t, done + i, "a value that int32 holds", number, e);
            }
            out[done + i] = (int32_t)v;
        }
    }
    return STATUS_OK;
}
