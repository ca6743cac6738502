/* SPDX-License-Identifier: MIT
** safetensors: what numbers of every type are read as, and which are refused.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bf16.h"
#include "safetensors.h"
#include "scratch.h"

static void every_float_type_is_converted(void **state) {
    char path[SCRATCH_PATH];
    static const uint16_t half[4] = { 0x3c00, 0xc000, 0x0001, 0x7bff },
                          brain[2] = { 0x3fc0, 0xbf80 };
    static const double wide[2] = { 0.1, -3e38 };
    static const float single[1] = { 1.25f };
    TensorList l = { 0 };
    scratch_path(state, "types", path);
    assert_int_equal(tensors_add(&l, "", "half", DTYPE_F16, 1, (int64_t[]){ 4 }, half, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "brain", DTYPE_BF16, 1, (int64_t[]){ 2 }, brain, NULL), 0);
    assert_int_equal(tensors_add(&l, "x.", "wide", DTYPE_F64, 1, (int64_t[]){ 2 }, wide, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "single", DTYPE_F32, 0, NULL, single, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    Safetensors s;
    Error e = { 0 };
    float f[4];
    double d[4];
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "half"), f, &e), 0);
    assert_true(f[0] == 1 && f[1] == -2 && f[2] == 0x1p-24f && f[3] == 65504);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "brain"), f, &e), 0);
    assert_true(f[0] == 1.5f && f[1] == -1);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "x.wide"), f, &e), 0);
    assert_true(f[0] == 0.1f && f[1] == -3e38f);
    assert_int_equal(safetensors_read_f64(&s, safetensors_find(&s, "x.wide"), d, &e), 0);
    assert_true(d[0] == 0.1 && d[1] == -3e38);
    assert_int_equal(safetensors_read_f64(&s, safetensors_find(&s, "single"), d, &e), 0);
    assert_true(d[0] == 1.25);
    assert_int_equal(safetensors_read_i32(&s, safetensors_find(&s, "half"), (int32_t[4]){ 0 }, &e),
                     STATUS_USER);
    assert_non_null(strstr(e.text, "half: expected I32 or I64, found F16"));
    safetensors_close(&s);
    safetensors_close(&s);
}

/* Of every float type, and in more than a piece of the file. */
static void floats_are_rounded_to_bfloat16(void **state) {
    enum { N = 20001 };
    static float single[N];
    static uint16_t got[N];
    static const double wide[6] = { 1 + 0x1p-8, 1 + 3 * 0x1p-8, 1 + 0x1.1p-8,
                                    -0.0,       0x1.fefffep127, -0x1p-140 };
    static const uint16_t half[3] = { 0x3c00, 0xc001, 0x0001 }, brain[2] = { 0x3fc1, 0x8001 };
    char path[SCRATCH_PATH];
    TensorList l = { 0 };
    Safetensors s;
    Error e = { 0 };
    for (int i = 0; i < N; i++)
        single[i] = (float)(i % 2 ? i : -i) * 0x1.0003p-3f;
    assert_int_equal(tensors_add(&l, "", "single", DTYPE_F32, 1, (int64_t[]){ N }, single, NULL),
                     0);
    assert_int_equal(tensors_add(&l, "", "wide", DTYPE_F64, 1, (int64_t[]){ 6 }, wide, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "half", DTYPE_F16, 1, (int64_t[]){ 3 }, half, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "brain", DTYPE_BF16, 1, (int64_t[]){ 2 }, brain, NULL), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "rounded", path), &l, NULL, 0, 0, NULL),
                     0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_int_equal(safetensors_read_bf16(&s, safetensors_find(&s, "single"), got, &e), 0);
    for (int i = 0; i < N; i++) { /* no bfloat16 is nearer */
        double apart = fabs(bf16_value(got[i]) - (double)single[i]);
        for (int next = -1; i && next <= 1; next += 2)
            assert_true(fabs(bf16_value((uint16_t)(got[i] + next)) - (double)single[i]) >= apart);
    }
    assert_int_equal(safetensors_read_bf16(&s, safetensors_find(&s, "wide"), got, &e), 0);
    assert_memory_equal(got, ((uint16_t[]){ 0x3f80, 0x3f82, 0x3f81, 0x8000, 0x7f7f, 0x8000 }), 10);
    assert_true(bf16_value(got[5]) == -0x1p-133f || bf16_value(got[5]) == 0);
    assert_int_equal(safetensors_read_bf16(&s, safetensors_find(&s, "half"), got, &e), 0);
    assert_memory_equal(got, ((uint16_t[]){ 0x3f80, 0xc000, 0x3380 }), 6);
    assert_int_equal(safetensors_read_bf16(&s, safetensors_find(&s, "brain"), got, &e), 0);
    assert_memory_equal(got, brain, sizeof brain);
    safetensors_close(&s);
}

typedef enum Reader { AS_FLOATS, AS_BF16, AS_INTEGERS } Reader;

/* One bad value in a tensor [3,5] of the type; what reading it says. */
static void bad_value(void **state, Dtype type, const void *data, Reader reader, const char *says) {
    char path[SCRATCH_PATH];
    TensorList l = { 0 };
    Safetensors s;
    Error e = { 0 };
    float f[15];
    int32_t n[15];
    uint16_t half[15];
    scratch_path(state, "value", path);
    assert_int_equal(tensors_add(&l, "", "w", type, 2, (int64_t[]){ 3, 5 }, data, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    const Tensor *t = safetensors_find(&s, "w");
    int status = reader == AS_INTEGERS ? safetensors_read_i32(&s, t, n, &e)
        : reader == AS_BF16            ? safetensors_read_bf16(&s, t, half, &e)
                                       : safetensors_read_f32(&s, t, f, &e);
    assert_int_equal(status, STATUS_USER);
    if (!strstr(e.text, says)) fail_msg("expected \"%s\", found \"%s\"", says, e.text);
    safetensors_close(&s);
}

static void bad_values_are_told_by_tensor_and_index(void **state) {
    float f[15] = { [11] = NAN };
    bad_value(state, DTYPE_F32, f, AS_FLOATS, "w[2,1]: expected a finite value, found nan");
    f[0] = -INFINITY;
    bad_value(state, DTYPE_F32, f, AS_FLOATS, "w[0,0]: expected a finite value, found -inf");
    bad_value(state, DTYPE_F64, (double[15]){ [4] = 1e39 }, AS_FLOATS,
              "w[0,4]: expected a value that float32 holds, found 1e+39");
    bad_value(state, DTYPE_F64, (double[15]){ [14] = INFINITY }, AS_FLOATS,
              "w[2,4]: expected a finite value, found inf");
    bad_value(state, DTYPE_F16, (uint16_t[15]){ [5] = 0x7c00 }, AS_FLOATS,
              "w[1,0]: expected a finite value, found inf");
    bad_value(state, DTYPE_BF16, (uint16_t[15]){ [6] = 0x7fc0 }, AS_FLOATS,
              "w[1,1]: expected a finite value, found nan");
    bad_value(state, DTYPE_I64, (int64_t[15]){ [7] = INT64_C(1) << 31 }, AS_INTEGERS,
              "w[1,2]: expected a value that int32 holds, found 2147483648");
    bad_value(state, DTYPE_U8, (uint8_t[15]){ 0 }, AS_FLOATS,
              "w: expected F32, F64, F16 or BF16, found U8");
    bad_value(state, DTYPE_F64, (double[15]){ [8] = -0x1.ffp127 }, AS_BF16,
              "w[1,3]: expected a value that bfloat16 holds, found -3.39617752923046e+38");
    bad_value(state, DTYPE_F64, (double[15]){ [2] = 0x1.feffffffp127 }, AS_BF16,
              "w[0,2]: expected a value that bfloat16 holds");
    bad_value(state, DTYPE_F32, (float[15]){ [1] = INFINITY }, AS_BF16,
              "w[0,1]: expected a finite value, found inf");
    bad_value(state, DTYPE_I32, (int32_t[15]){ 0 }, AS_BF16,
              "w: expected F32, F64, F16 or BF16, found I32");
    bad_value(state, DTYPE_F32, (float[15]){ 0 }, AS_INTEGERS, "w: expected I32 or I64, found F32");
}

static void long_tensors_are_read_in_pieces(void **state) {
    enum { N = 100003 };
    char path[SCRATCH_PATH];
    int64_t *big = malloc(N * sizeof *big);
    int32_t *back = malloc(N * sizeof *back);
    assert_true(big && back);
    for (int i = 0; i < N; i++)
        big[i] = i % 2 ? i : -i;
    TensorList l = { 0 };
    Safetensors s;
    scratch_path(state, "pieces", path);
    assert_int_equal(tensors_add(&l, "", "n", DTYPE_I64, 1, (int64_t[]){ N }, big, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, NULL), 0);
    assert_int_equal(safetensors_read_i32(&s, safetensors_find(&s, "n"), back, NULL), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(back[i], big[i]);
    safetensors_close(&s);
    free(big);
    free(back);
}

static void a_file_that_shrinks_is_an_error(void **state) {
    char path[SCRATCH_PATH];
    float f[1024] = { 0 };
    TensorList l = { 0 };
    Safetensors s;
    Error e = { 0 };
    scratch_path(state, "shrinks", path);
    assert_int_equal(tensors_add(&l, "", "w", DTYPE_F32, 1, (int64_t[]){ 1024 }, f, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, NULL), 0);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(safetensors_read_f32(&s, safetensors_find(&s, "w"), f, &e), STATUS_IO);
    assert_non_null(strstr(e.text, "became shorter"));
    safetensors_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_float_type_is_converted),
        cmocka_unit_test(floats_are_rounded_to_bfloat16),
        cmocka_unit_test(bad_values_are_told_by_tensor_and_index),
        cmocka_unit_test(long_tensors_are_read_in_pieces),
        cmocka_unit_test(a_file_that_shrinks_is_an_error),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
