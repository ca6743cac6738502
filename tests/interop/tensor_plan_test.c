/* SPDX-License-Identifier: MIT
** Plans of tensors against the plain way: chains of slices, transpositions and reshapes drawn by
** chance, made of arrays in memory one after another; tensors of more than a block; what is kept
** in its type; what is refused.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "scratch.h"
#include "tensor_plan.h"

/* == Arrays in memory ===================================================== */

typedef struct Array {
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    float *x;
} Array;

static int64_t count_of(const Array *a) {
    int64_t n = 1;
    for (int d = 0; d < a->rank; d++)
        n *= a->shape[d];
    return n;
}

static float *room_of(const Array *a) {
    float *x = malloc((size_t)count_of(a) * sizeof *x);
    assert_non_null(x);
    return x;
}

/* Element 'index' of b from element 'axis[d]' of a, 'first' on along 'sliced'. */
static void move(Array *a, const Array *b, const int *axis, int sliced, int64_t first) {
    int64_t index[SAFETENSORS_RANK] = { 0 }, n = count_of(b);
    float *out = room_of(b);
    for (int64_t i = 0; i < n; i++) {
        int64_t from[SAFETENSORS_RANK] = { 0 }, at = 0;
        for (int d = 0; d < b->rank; d++)
            from[axis[d]] = index[d] + (axis[d] == sliced ? first : 0);
        for (int d = 0; d < a->rank; d++)
            at = at * a->shape[d] + from[d];
        out[i] = a->x[at];
        for (int d = b->rank - 1; d >= 0 && ++index[d] == b->shape[d]; d--)
            index[d] = 0;
    }
    free(a->x);
    *a = *b;
    a->x = out;
}

/* == Drawing ============================================================== */

static uint64_t seed = 1;

static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static void draw_slice(TensorView *v, Array *a) {
    Error e = { 0 };
    Array b = *a;
    int axis = (int)below(a->rank), all[SAFETENSORS_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    int64_t first = below(a->shape[axis]), count = 1 + below(a->shape[axis] - first);
    if (v->regrouped) return;
    assert_int_equal(view_slice(v, axis, first, count, &e), 0);
    b.shape[axis] = count;
    move(a, &b, all, axis, first);
}

static void draw_transpose(TensorView *v, Array *a) {
    Error e = { 0 };
    Array b = *a;
    int axis[SAFETENSORS_RANK] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    if (v->regrouped) return;
    for (int d = a->rank - 1; d > 0; d--) {
        int other = (int)below(d + 1), had = axis[d];
        axis[d] = axis[other];
        axis[other] = had;
    }
    for (int d = 0; d < a->rank; d++)
        b.shape[d] = a->shape[axis[d]];
    assert_int_equal(view_transpose(v, axis, a->rank, &e), 0);
    move(a, &b, axis, -1, 0);
}

/* Joins two neighbouring axes, or cuts one in two. */
static void draw_reshape(TensorView *v, Array *a) {
    Error e = { 0 };
    int axis = (int)below(a->rank);
    if (below(2) && axis + 1 < a->rank) {
        a->shape[axis] *= a->shape[axis + 1];
        for (int d = axis + 1; d + 1 < a->rank; d++)
            a->shape[d] = a->shape[d + 1];
        a->rank--;
    } else if (a->rank < SAFETENSORS_RANK && a->shape[axis] % 2 == 0) {
        for (int d = a->rank; d > axis; d--)
            a->shape[d] = a->shape[d - 1];
        a->shape[axis] = 2;
        a->shape[axis + 1] /= 2;
        a->rank++;
    }
    assert_int_equal(view_reshape(v, a->rank, a->shape, &e), 0);
}

/* == Folders and files ==================================================== */

enum { ROWS = 1500, COLUMNS = 2100 };
static const int64_t small_shape[] = { 6, 4, 10 }, big_shape[] = { ROWS, COLUMNS };

/* Values that every type holds. */
static float value(int64_t i) { return (float)(i % 251 - 125) / 8; }

static void write_folder(void **state, float *big) {
    char path[SCRATCH_PATH];
    float small[240];
    uint16_t bf16[240], f16[240];
    Error e = { 0 };
    TensorList list = { 0 };
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        big[i] = value(i);
    for (int i = 0; i < 240; i++) {
        small[i] = value(i);
        bf16[i] = bf16_of(value(i));
        f16[i] = (uint16_t)(0x3c00 + i); /* from 1 up, by 2^-10 */
    }
    tensors_add(&list, "", "a", DTYPE_F32, 3, small_shape, small, &e);
    tensors_add(&list, "", "b", DTYPE_BF16, 3, small_shape, bf16, &e);
    tensors_add(&list, "", "h", DTYPE_F16, 3, small_shape, f16, &e);
    tensors_add(&list, "", "big", DTYPE_F32, 2, big_shape, big, &e);
    scratch_path(state, "model.safetensors", path);
    assert_int_equal(safetensors_write(path, &list, NULL, 0, 0, &e), 0);
    tensors_free(&list);
}

/* Plans one tensor, writes it, and reads it back. */
static void carry_out(void **state, const TensorView *piece, int pieces, int axis, bool keep,
                      Dtype dtype, const Array *want) {
    char path[SCRATCH_PATH];
    TensorPlan p = { 0 };
    Safetensors s;
    Error e = { 0 };
    if (plan_add(&p, "x", piece, pieces, axis, keep, &e)) fail_msg("%s", e.text);
    scratch_path(state, "out.safetensors", path);
    if (plan_write(&p, path, &e) || safetensors_open(&s, path, &e)) fail_msg("%s", e.text);
    const Tensor *t = safetensors_find(&s, "x");
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->rank, want->rank);
    for (int d = 0; d < t->rank; d++)
        assert_int_equal(t->shape[d], want->shape[d]);
    float *got = room_of(want);
    assert_int_equal(safetensors_read_f32(&s, t, got, &e), 0);
    for (int64_t i = 0; i < t->count; i++)
        if (got[i] != want->x[i])
            fail_msg("element %lld is %g, expected %g", (long long)i, (double)got[i],
                     (double)want->x[i]);
    free(got);
    safetensors_close(&s);
    plan_free(&p);
}

typedef struct Bench {
    CheckpointFolder c;
    float *big;
} Bench;

static void bench_open(void **state, Bench *b) {
    Error e = { 0 };
    b->big = malloc((size_t)ROWS * COLUMNS * sizeof *b->big);
    write_folder(state, b->big);
    if (folder_load(&b->c, *state, &e)) fail_msg("%s", e.text);
}

static void bench_close(Bench *b) {
    folder_free(&b->c);
    free(b->big);
}

static void stored(const Bench *b, const char *name, TensorView *v, Array *a) {
    Error e = { 0 };
    const StoredTensor *t = folder_find(&b->c, name);
    assert_int_equal(view_stored(v, t, &e), 0);
    a->rank = t->tensor->rank;
    memcpy(a->shape, t->tensor->shape, sizeof a->shape);
    a->x = room_of(a);
    assert_int_equal(safetensors_read_f32(t->file, t->tensor, a->x, &e), 0);
}

/* == Tests ================================================================ */

static void test_chains(void **state) {
    static const char *const names[] = { "a", "b", "h" };
    static void (*const draw[])(TensorView *, Array *) = { draw_slice, draw_transpose,
                                                           draw_reshape };
    Bench b;
    bench_open(state, &b);
    for (int i = 0; i < 150; i++) {
        TensorView v;
        Array a;
        stored(&b, names[i % 3], &v, &a);
        for (int64_t k = below(6); k > 0; k--)
            draw[below(3)](&v, &a);
        carry_out(state, &v, 1, 0, i % 2, i % 2 ? v.from->tensor->dtype : DTYPE_F32, &a);
        free(a.x);
    }
    bench_close(&b);
}

/* More than a block, read in rows of a transposed matrix. */
static void test_large(void **state) {
    const int swap[] = { 1, 0 };
    Bench b;
    TensorView v;
    Array a;
    Error e = { 0 };
    bench_open(state, &b);
    stored(&b, "big", &v, &a);
    carry_out(state, &v, 1, 0, true, DTYPE_F32, &a);
    Array turned = { .rank = 2, .shape = { COLUMNS, ROWS } };
    view_transpose(&v, swap, 2, &e);
    move(&a, &turned, swap, -1, 0);
    carry_out(state, &v, 1, 0, true, DTYPE_F32, &a);
    free(a.x);
    bench_close(&b);
}

/* Two halves that change places along each axis, of more than a block together. */
static void test_joined(void **state) {
    Bench b;
    Error e = { 0 };
    bench_open(state, &b);
    for (int axis = 0; axis < 2; axis++) {
        TensorView piece[2];
        Array a, want;
        stored(&b, "big", &piece[0], &a);
        piece[1] = piece[0];
        want = a;
        want.x = room_of(&a);
        int64_t n = a.shape[axis], half = n / 3;
        view_slice(&piece[0], axis, half, n - half, &e);
        view_slice(&piece[1], axis, 0, half, &e);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t k = 0; k < COLUMNS; k++) {
                int64_t row = axis ? i : (i + half) % ROWS,
                        column = axis ? (k + half) % COLUMNS : k;
                want.x[i * COLUMNS + k] = a.x[row * COLUMNS + column];
            }
        carry_out(state, piece, 2, axis, false, DTYPE_F32, &want);
        free(a.x);
        free(want.x);
    }
    bench_close(&b);
}

/* Numbers are float32 even where types are kept; constants are anywhere. */
static void test_numbers(void **state) {
    Bench b;
    TensorView v[2];
    Array a;
    Error e = { 0 };
    bench_open(state, &b);
    stored(&b, "b", &v[0], &a);
    view_calculate(&v[0], 1, 1);
    view_calculate(&v[0], 2, 0);
    assert_int_equal(view_constant(&v[1], 0.5, 3, small_shape, &e), 0);
    Array want = { .rank = 3, .shape = { 12, 4, 10 } };
    want.x = room_of(&want);
    for (int i = 0; i < 480; i++)
        want.x[i] = i < 240 ? 2 * (a.x[i] + 1) : 0.5f;
    carry_out(state, v, 2, 0, true, DTYPE_F32, &want);
    free(a.x);
    free(want.x);
    bench_close(&b);
}

static void test_refused(void **state) {
    const int64_t other[] = { 7, 4, 10 };
    const int twice[] = { 0, 0, 1 }, back[] = { 2, 1, 0 };
    Bench b;
    TensorView v;
    Array a;
    Error e = { 0 };
    bench_open(state, &b);
    stored(&b, "a", &v, &a);
    free(a.x);
    assert_int_equal(view_slice(&v, 3, 0, 1, &e), STATUS_USER);
    assert_int_equal(view_slice(&v, 0, 5, 2, &e), STATUS_USER);
    assert_int_equal(view_slice(&v, 0, INT64_MAX, 2, &e), STATUS_USER);
    assert_int_equal(view_slice(&v, 0, 0, 0, &e), STATUS_USER);
    assert_int_equal(view_transpose(&v, twice, 3, &e), STATUS_USER);
    assert_int_equal(view_transpose(&v, back, 2, &e), STATUS_USER);
    assert_int_equal(view_reshape(&v, 3, other, &e), STATUS_USER);
    assert_int_equal(view_reshape(&v, 9, other, &e), STATUS_USER);
    assert_int_equal(view_transpose(&v, back, 3, &e), 0);
    assert_int_equal(view_reshape(&v, 1, (int64_t[]){ 240 }, &e), 0);
    assert_true(v.regrouped);
    assert_int_equal(view_slice(&v, 0, 0, 2, &e), STATUS_USER);
    assert_non_null(strstr(e.text,
                           ":a: expected no slice of a transposed and reshaped tensor, "
                           "found the shape [240]"));
    bench_close(&b);
}

/* Two values of a type, kept as they are if that is one of floats: told as 'says', or written as
** the floats 1 and -7. */
static void check_pair(void **state, Dtype d, const void *x, const char *says) {
    char path[SCRATCH_PATH], out[SCRATCH_PATH];
    TensorList list = { 0 };
    TensorPlan p = { 0 };
    CheckpointFolder c;
    TensorView v;
    Error e = { 0 };
    tensors_add(&list, "", "a", d, 1, (int64_t[]){ 2 }, x, &e);
    scratch_path(state, "model.safetensors", path);
    assert_int_equal(safetensors_write(path, &list, NULL, 0, 0, &e), 0);
    tensors_free(&list);
    assert_int_equal(folder_load(&c, *state, &e), 0);
    assert_int_equal(view_stored(&v, folder_find(&c, "a"), &e), 0);
    if (says) {
        assert_int_equal(plan_add(&p, "x", &v, 1, 0, true, &e), 0);
        scratch_path(state, "refused.safetensors", out);
        assert_int_equal(plan_write(&p, out, &e), STATUS_USER);
        assert_non_null(strstr(e.text, says));
        assert_false(scratch_exists(out));
        plan_free(&p);
    } else {
        const Array want = { 1, { 2 }, (float[]){ 1, -7 } };
        carry_out(state, &v, 1, 0, true, DTYPE_F32, &want);
    }
    folder_free(&c);
}

static void test_not_finite(void **state) {
    check_pair(state, DTYPE_F32, (float[]){ 1, NAN },
               ":a: expected a finite value at element 1, found nan");
}

static void test_integers(void **state) {
    check_pair(state, DTYPE_I64, (int64_t[]){ 1, -7 }, NULL);
    check_pair(state, DTYPE_I32, (int32_t[]){ 1, -7 }, NULL);
    check_pair(state, DTYPE_I64, (int64_t[]){ 1, (1 << 24) + 1 },
               ":a: expected integers of at most 2^24, found another at element 1");
    check_pair(state, DTYPE_I32, (int32_t[]){ INT32_MIN, 1 }, "found another at element 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_chains),
        cmocka_unit_test(test_large),      cmocka_unit_test(test_joined),
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
