/*
** safetensors: what must be refused, with which status and words, and that what is
** written comes back.  The table of malformed files is the contract of the reader.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "little_model.h"
#include "bf16.h"
#include "safetensors.h"
#include "scratch.h"
#include "weights.h"

/* Header length, header, 'data' zero bytes. */
static void write_header(const char *path, const char *header, size_t length, size_t data) {
    char *all = calloc(1, 8 + length + data);
    assert_non_null(all);
    for (int i = 0; i < 8; i++)
        all[i] = (char)((uint64_t)length >> 8 * i);
    memcpy(all + 8, header, length);
    scratch_write(path, all, 8 + length + data);
    free(all);
}

/* == What is refused ====================================================== */

#define F32(name, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static const struct {
    const char *header;
    size_t data;
    int status;
    const char *says;
} malformed[] = {
    /* S2, S3: the header's text */
    { "", 0, 1, "begins with '{'" },
    { " {}", 0, 1, "begins with '{'" },
    { "[]", 0, 1, "begins with '{'" },
    { "{", 0, 1, "the end" },
    { "{}x", 0, 1, "found 'x'" },
    { "{} {}", 0, 1, "found '{'" },
    { "{\"a\"}", 0, 1, "expected ':'" },
    { "{a:1}", 0, 1, "expected a string" },
    { "{\"a\":1,}", 0, 1, "expected a string" },
    { "{\"a\":[1,]}", 0, 1, "expected a value" },
    { "{\"a\":01}", 0, 1, "',' or '}'" },
    { "{\"a\":1.}", 0, 1, "a digit" },
    { "{\"a\":-}", 0, 1, "a digit" },
    { "{\"a\":1e}", 0, 1, "a digit" },
    { "{\"a\":+1}", 0, 1, "expected a value" },
    { "{\"a\":NaN}", 0, 1, "expected a value" },
    { "{\"a\":nul}", 0, 1, "expected a value" },
    { "{\"a\":'b'}", 0, 1, "expected a value" },
    { "{\"a\":\"\x01\"}", 0, 1, "string's character" },
    { "{\"a\":\"\\x\"}", 0, 1, "an escape" },
    { "{\"a\":\"\\u12g4\"}", 0, 1, "hexadecimal" },
    { "{\"a\":\"\\u0000\"}", 0, 1, "NUL" },
    { "{\"a\":\"\\ud800\"}", 0, 1, "surrogate" },
    { "{\"a\":\"\\ud800\\u0041\"}", 0, 1, "surrogate" },
    { "{\"a\":\"\\udc00\"}", 0, 1, "surrogate" },
    { "{\"a\":\"\xff\"}", 0, 1, "UTF-8" },
    { "{\"a\":\"\xc0\x80\"}", 0, 1, "UTF-8" },
    { "{\"a\":\"\xed\xa0\x80\"}", 0, 1, "UTF-8" },
    { "{\"a\":\"b", 0, 1, "the end" },
    { "{\"a\":/**/1}", 0, 1, "expected a value" },
    /* keys twice, at every level, also when written differently */
    { "{" F32("a", "[1]", 0, 4) "," F32("a", "[1]", 4, 8) "}", 8, 1, "twice" },
    { "{" F32("a", "[1]", 0, 4) "," F32("\\u0061", "[1]", 4, 8) "}", 8, 1, "twice" },
    { "{\"__metadata__\":{},\"__metadata__\":{}}", 0, 1, "twice" },
    { "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, 1, "k: expected one value" },
    { "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 1,
      "dtype: expected one" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"shape\":[1]}}", 4, 1,
      "shape: expected one" },
    { "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"c\":1}",
      0, 1, "c: expected one" },
    /* S4 */
    { "{\"__metadata__\":[]}", 0, 1, "an object" },
    { "{\"__metadata__\":{\"k\":1}}", 0, 1, "strings only" },
    { "{\"__metadata__\":{\"k\":{}}}", 0, 1, "strings only" },
    { "{\"__metadata__\":null}", 0, 1, "found null" },
    /* S5 */
    { "{\"a\":1}", 0, 1, "an object with" },
    { "{\"a\":{}}", 0, 1, "expected dtype" },
    { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, 1, "expected shape" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, 1, "expected data_offsets" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4, 1,
      "another field" },
    /* S6 */
    { "{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 1,
      "known dtype, found F31" },
    { "{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 1, "known dtype" },
    { "{\"a\":{\"dtype\":\"F32 \",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 1, "known dtype" },
    { "{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 1, "known dtype" },
    { "{" F32("a", "1", 0, 4) "}", 4, 1, "a list as shape" },
    { "{" F32("a", "[-1]", 0, 4) "}", 4, 1, "a dimension, found -1" },
    { "{" F32("a", "[1.0]", 0, 4) "}", 4, 1, "a dimension, found 1.0" },
    { "{" F32("a", "[1e0]", 0, 4) "}", 4, 1, "a dimension" },
    { "{" F32("a", "[\"1\"]", 0, 4) "}", 4, 1, "a dimension" },
    { "{" F32("a", "[[1]]", 0, 4) "}", 4, 1, "a dimension, found a list" },
    { "{" F32("a", "[9223372036854775808]", 0, 4) "}", 4, 1, "a dimension" },
    { "{" F32("a", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, 3, "rank of at most 8, found 9" },
    /* S7 */
    { "{" F32("a", "[4294967296,4294967296]", 0, 0) "}", 0, 1, "can be counted" },
    { "{" F32("a", "[4294967296,4294967296,0]", 0, 0) "}", 0, 1, "can be counted" },
    { "{" F32("a", "[4611686018427387904]", 0, 0) "}", 0, 1, "can be counted" },
    { "{" F32("a", "[2]", 0, 4) "}", 4, 1, "expected 8 bytes" },
    { "{" F32("a", "[]", 0, 0) "}", 0, 1, "expected 4 bytes" },
    { "{" F32("a", "[0]", 0, 4) "}", 4, 1, "expected 0 bytes" },
    { "{" F32("a", "[1]", 4, 0) "}", 4, 1, "data_offsets" },
    { "{" F32("a", "[1]", -4, 0) "}", 4, 1, "data_offsets" },
    { "{" F32("a", "[1]", 0.0, 4) "}", 4, 1, "data_offsets" },
    { "{" F32("a", "[1]", 0, 18446744073709551620) "}", 4, 1, "data_offsets" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, 1, "data_offsets" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4, 1, "data_offsets" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4}}", 4, 1, "data_offsets" },
    /* S8 */
    { "{" F32("a", "[1]", 0, 4) "}", 3, 1, "inside the file's 3 bytes" },
    { "{" F32("a", "[1]", 0, 4) "}", 5, 1, "expected 4 bytes of tensor data, found 5" },
    { "{}", 1, 1, "expected 0 bytes of tensor data, found 1" },
    { "{" F32("a", "[1]", 4, 8) "}", 8, 1, "a hole" },
    { "{" F32("a", "[1]", 0, 4) "," F32("b", "[1]", 8, 12) "}", 12, 1,
      "b: expected data from byte 4, found a hole" },
    { "{" F32("a", "[2]", 0, 8) "," F32("b", "[1]", 4, 8) "}", 8, 1, "an overlap" },
    { "{" F32("a", "[1]", 0, 4) "," F32("b", "[1]", 0, 4) "}", 4, 1, "an overlap" },
    { "{" F32("a", "[1]", 0, 4) "," F32("b", "[0]", 2, 2) "}", 4, 1, "expected data from byte" },
    { "{" F32("a", "[2305843009213693951]", 0, 9223372036854775804) "}", 4, 1, "inside the file" },
    { "{" F32("a", "[1]", 0, 4) "," F32("b", "[2305843009213693951]", 4, 9223372036854775808) "}",
      8, 1, "data_offsets" },
};

static void malformed_files_are_refused(void **state) {
    char path[SCRATCH_PATH];
    scratch_path(state, "bad.safetensors", path);
    assert_true(sizeof malformed / sizeof *malformed >= 40);
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        Safetensors s;
        Error e = { 0 };
        write_header(path, malformed[i].header, strlen(malformed[i].header), malformed[i].data);
        int status = safetensors_open(&s, path, &e);
        if (status != malformed[i].status || !strstr(e.text, malformed[i].says)
            || !strstr(e.text, path))
            fail_msg("row %zu: %s\n  expected %d, \"%s\"\n  found %d, \"%s\"", i,
                     malformed[i].header, malformed[i].status, malformed[i].says, status, e.text);
        assert_null(s.tensor);
        assert_null(s.path);
    }
}

static void refuses(const char *path, int status, const char *says) {
    Safetensors s;
    Error e = { 0 };
    int found = safetensors_open(&s, path, &e);
    if (found != status || !strstr(e.text, says))
        fail_msg("expected %d, \"%s\"\n  found %d, \"%s\"", status, says, found, e.text);
}

static void lengths_are_checked_before_use(void **state) {
    char path[SCRATCH_PATH];
    scratch_path(state, "length", path);
    scratch_write(path, "", 0);
    refuses(path, STATUS_USER, "found 0 bytes");
    scratch_write(path, "1234567", 7);
    refuses(path, STATUS_USER, "found 7 bytes");
    scratch_write(path, "\0\0\0\0\0\0\0\0", 8);
    refuses(path, STATUS_USER, "begins with '{'");
    scratch_write(path, "\3\0\0\0\0\0\0\0{}", 10);
    refuses(path, STATUS_USER, "header inside the file");
    scratch_write(path, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    refuses(path, STATUS_USER, "header inside the file");
    /* 100000001, in a file that is long enough */
    scratch_write(path, "\1\xe1\xf5\5\0\0\0\0{}", 10);
    assert_int_equal(truncate(path, 200000000), 0);
    refuses(path, STATUS_LIMIT, "at most 100000000 bytes");
}

static void other_things_than_files_are_refused(void **state) {
    char path[SCRATCH_PATH], link[SCRATCH_PATH];
    refuses(scratch_path(state, "absent", path), STATUS_USER, "cannot open");
    refuses(*state, STATUS_USER, "found a folder");
    refuses("/dev/zero", STATUS_USER, "found a device");
    assert_int_equal(mkfifo(scratch_path(state, "pipe", path), 0600), 0);
    refuses(path, STATUS_USER, "found a pipe"); /* and does not wait for a writer */
    assert_int_equal(symlink("loop", scratch_path(state, "loop", link)), 0);
    refuses(link, STATUS_USER, "cannot open");
}

/* A header with lists in one another, closed or cut off. */
static void write_nested(const char *path, int depth, bool closed) {
    Text t = { 0 };
    text_add(&t, "{\"a\":");
    for (int i = 0; i < depth; i++)
        text_add(&t, "[");
    for (int i = 0; closed && i < depth; i++)
        text_add(&t, "]");
    if (closed) text_add(&t, "}");
    write_header(path, t.at, t.length, 0);
    text_free(&t);
}

/* A header of n empty tensors: t0, t1, ... */
static void write_many(const char *path, int n) {
    Text t = { 0 };
    text_add(&t, "{\"__metadata__\":{}");
    for (int i = 0; i < n; i++)
        text_add(&t, ",\"t%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i);
    text_add(&t, "}");
    write_header(path, t.at, t.length, 0);
    text_free(&t);
}

/* Depth, number of values and of tensors: limits, not mistakes. */
static void limits_are_limits(void **state) {
    char path[SCRATCH_PATH];
    Text t = { 0 };
    Safetensors s;
    scratch_path(state, "limits", path);
    write_nested(path, 64, false);
    refuses(path, STATUS_LIMIT, "depth of at most 64");
    write_nested(path, 63, true);
    refuses(path, STATUS_USER, "an object with"); /* 64 deep is read, and then is no tensor */
    text_add(&t, "{\"a\":[0");
    for (int i = 0; i < 2000000; i++)
        text_bytes(&t, ",0", 2);
    text_add(&t, "]}");
    write_header(path, t.at, t.length, 0);
    refuses(path, STATUS_LIMIT, "at most 2000000 values");
    text_free(&t);
    write_many(path, 100000);
    assert_int_equal(safetensors_open(&s, path, NULL), STATUS_OK);
    assert_int_equal(s.count, 100000);
    assert_non_null(safetensors_find(&s, "t99999"));
    assert_null(safetensors_find(&s, "t100000"));
    safetensors_close(&s);
    write_many(path, 100001);
    refuses(path, STATUS_LIMIT, "at most 100000 tensors, found 100001");
}

static void names_in_messages_are_escaped(void **state) {
    char path[SCRATCH_PATH];
    const char *header = "{\"\\u001b[2J\\n\":1}";
    scratch_path(state, "escape", path);
    write_header(path, header, strlen(header), 0);
    refuses(path, STATUS_USER, "\\x1b[2J\\n: expected");
}

/* == What is read ========================================================= */

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

/* == What is written ====================================================== */

static void written_bytes_are_deterministic_and_aligned(void **state) {
    char a[SCRATCH_PATH], b[SCRATCH_PATH];
    static const uint8_t bytes[3] = { 1, 2, 3 };
    static const double wide[1] = { 7 };
    const Pair pairs[] = { { "zeta", "quote \" and \\ and \n" }, { "alpha", "\xc3\xa9" } };
    TensorList l = { 0 };
    Safetensors s;
    assert_int_equal(tensors_add(&l, "", "bytes", DTYPE_U8, 1, (int64_t[]){ 3 }, bytes, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "wide", DTYPE_F64, 1, (int64_t[]){ 1 }, wide, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "none", DTYPE_F32, 2, (int64_t[]){ 0, 5 }, NULL, NULL), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "a", a), &l, pairs, 2, 0, NULL), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "b", b), &l, pairs, 2, 0, NULL), 0);
    size_t n, m;
    char *x = scratch_read(a, &n), *y = scratch_read(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    assert_true(strstr(x + 8, "zeta") < strstr(x + 8, "alpha"));
    assert_int_equal(safetensors_open(&s, a, NULL), 0);
    assert_int_equal(s.data % 64, 0);
    assert_int_equal(safetensors_find(&s, "wide")->at % 8, 0);
    assert_string_equal(safetensors_metadata(&s, "zeta"), pairs[0].value);
    assert_string_equal(safetensors_metadata(&s, "alpha"), pairs[1].value);
    assert_null(safetensors_metadata(&s, "beta"));
    safetensors_close(&s);
    tensors_free(&l);
    free(x);
    free(y);
}

static void every_flipped_bit_breaks_the_checksum(void **state) {
    char path[SCRATCH_PATH], bad[SCRATCH_PATH];
    static const float f[5] = { 1, 2, 3, 4, 5 };
    TensorList l = { 0 };
    Safetensors s;
    Error e = { 0 };
    bool found;
    assert_int_equal(tensors_add(&l, "", "w", DTYPE_F32, 1, (int64_t[]){ 5 }, f, NULL), 0);
    assert_int_equal(
        safetensors_write(scratch_path(state, "sum", path), &l, NULL, 0, SAFETENSORS_CHECKSUM, &e),
        0);
    tensors_free(&l);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_int_equal(safetensors_verify(&s, &found, &e), 0);
    assert_true(found);
    safetensors_close(&s);
    size_t n;
    char *bytes = scratch_read(path, &n);
    scratch_path(state, "flipped", bad);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 1;
        scratch_write(bad, bytes, n);
        if (!safetensors_open(&s, bad, &e)) {
            /* in the words that announce the checksum: there is none then, which a checkpoint must
            ** have */
            assert_true(safetensors_verify(&s, &found, &e) || !found);
            safetensors_close(&s);
        }
        bytes[i] ^= 1;
    }
    free(bytes);
}

static void targets_that_are_no_files_are_refused(void **state) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    TensorList l = { 0 };
    scratch_empty(state);
    assert_int_equal(safetensors_write(*state, &l, NULL, 0, 0, &e), STATUS_USER);
    assert_int_equal(safetensors_write("", &l, NULL, 0, 0, &e), STATUS_USER);
    /* checked only: a writer that failed this test would replace the machine's device */
    assert_int_equal(output_check("/dev/null", false, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found a device"));
    assert_int_equal(symlink("elsewhere", scratch_path(state, "link", path)), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found a symbolic link"));
    assert_int_equal(mkfifo(scratch_path(state, "fifo", path), 0600), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), STATUS_USER);
    assert_int_equal(output_check(path, false, &e), STATUS_USER);
    assert_int_equal(safetensors_write(scratch_path(state, "no/file", path), &l, NULL, 0, 0, &e),
                     STATUS_USER);
    assert_int_equal(output_check(path, false, &e), STATUS_USER);
    assert_int_equal(output_check(scratch_path(state, "fine", path), true, &e), STATUS_OK);
    assert_int_equal(scratch_entries(state), 2);
}

static void temporary_files_do_not_accumulate(void **state) {
    char path[SCRATCH_PATH], temp[SCRATCH_PATH];
    Error e = { 0 };
    TensorList l = { 0 };
    scratch_empty(state);
    scratch_path(state, "out", path);
    scratch_write(scratch_path(state, "out.strata-tmp", temp), "left by a killed process", 24);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), 0);
    assert_int_equal(scratch_entries(state), 1);
    Output held, second;
    assert_int_equal(output_open(&held, path, &e), 0);
    assert_int_equal(output_open(&second, path, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "another process"));
    assert_int_equal(output_write(&held, "half", 4, &e), 0);
    output_discard(&held);
    output_discard(&held);
    assert_int_equal(scratch_entries(state), 1);
    size_t n;
    char *kept = scratch_read(path, &n);
    assert_true(n > 8); /* what was there is untouched */
    free(kept);
}

static void a_full_disk_leaves_nothing(void **state) {
    (void)state;
    Error e = { 0 };
    Output o = { .fd = -1, .folder = -1 };
    /* the descriptor alone is replaced: the error is the device's own */
    char path[SCRATCH_PATH];
    scratch_empty(state);
    assert_int_equal(output_open(&o, scratch_path(state, "full", path), &e), 0);
    output_discard(&o);
    assert_int_equal(scratch_entries(state), 0);
    o = (Output){ .fd = 3, .folder = -1, .path = path };
    FILE *full = fopen("/dev/full", "wb");
    assert_non_null(full);
    o.fd = fileno(full);
    assert_int_equal(output_write(&o, "x", 1, &e), STATUS_IO);
    assert_non_null(strstr(e.text, "cannot write"));
    fclose(full);
}

/* == Weights ============================================================== */

static void weights_round_trip_and_start_alike(void **state) {
    const strata_model *m = little_model();
    char path[SCRATCH_PATH];
    float w[LITTLE_PARAMETERS], again[LITTLE_PARAMETERS], other[LITTLE_PARAMETERS];
    TensorList l = { 0 };
    weights_init(m, 7, w);
    weights_init(m, 7, again);
    weights_init(m, 8, other);
    assert_memory_equal(w, again, sizeof w);
    assert_memory_not_equal(w, other, 24 * sizeof *w);
    assert_true(w[24] == 1 && w[28] == 0.25f && w[29] == -1 && w[30] == 3e-5f && w[31] == 0);
    assert_int_equal(weights_list(&l, m, "", w, NULL), 0);
    assert_int_equal(safetensors_write(scratch_path(state, "w", path), &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    memset(again, 0, sizeof again);
    Error e = { 0 };
    assert_int_equal(weights_load(m, path, again, &e), 0);
    assert_memory_equal(w, again, sizeof w);
}

static void gradients_are_found_in_their_order(void **state) {
    (void)state;
    const strata_model *m = little_model();
    float train[3 * LITTLE_PARAMETERS];
    TensorList l = { 0 };
    int64_t index;
    for (int i = 0; i < 3 * LITTLE_PARAMETERS; i++)
        train[i] = (float)i;
    assert_int_equal(weights_list_train(&l, m, "grad.", train, 0, NULL), 0);
    assert_int_equal(weights_list_train(&l, m, "optimizer.v.", train, 2, NULL), 0);
    assert_string_equal(l.item[0].name, "grad.embedding.weight");
    assert_true(*(const float *)l.item[0].data == 8
                && *(const float *)l.item[4].data == 2 * LITTLE_PARAMETERS + 8);
    tensors_free(&l);
    const strata_tensor *t = weights_at_gradient(m, 6, &index);
    assert_string_equal(strata_string(m, t->name), "layers.0.norm.weight");
    assert_int_equal(index, 2);
    assert_null(weights_at_gradient(m, LITTLE_PARAMETERS, &index));
}

static void wrong_weights_are_listed(void **state) {
    const strata_model *m = little_model();
    char path[SCRATCH_PATH];
    float w[LITTLE_PARAMETERS] = { 0 };
    TensorList l = { 0 };
    Error e = { 0 };
    assert_int_equal(
        tensors_add(&l, "", "embedding.weight", DTYPE_F32, 2, (int64_t[]){ 4, 6 }, w, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "query", DTYPE_I32, 1, (int64_t[]){ 3 }, w, NULL), 0);
    assert_int_equal(tensors_add(&l, "", "optimizer.m.gate", DTYPE_F32, 0, NULL, w, NULL), 0);
    assert_int_equal(
        tensors_add(&l, "", "tokenizer.chars", DTYPE_I32, 1, (int64_t[]){ 2 }, w, NULL), 0);
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "stray.%02d", i);
        assert_int_equal(tensors_add(&l, "", name, DTYPE_F32, 0, NULL, w, NULL), 0);
    }
    assert_int_equal(safetensors_write(scratch_path(state, "wrong", path), &l, NULL, 0, 0, NULL),
                     0);
    tensors_free(&l);
    assert_int_equal(weights_load(m, path, w, &e), STATUS_USER);
    static const char *const says[] = { "expected the 4 parameters of little, found 2 missing, 2 "
                                        "of another shape or type, 20 unknown",
                                        "missing: layers.0.norm.weight gate",
                                        "embedding.weight: expected [6,4], found F32 [4,6];",
                                        "query: expected [3], found I32 [3];",
                                        "stray.00 stray.01",
                                        "and 12 more" };
    for (size_t i = 0; i < sizeof says / sizeof *says; i++)
        if (!strstr(e.text, says[i])) fail_msg("expected \"%s\" in:\n%s", says[i], e.text);
    assert_null(strstr(e.text, "optimizer"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_files_are_refused),
        cmocka_unit_test(lengths_are_checked_before_use),
        cmocka_unit_test(other_things_than_files_are_refused),
        cmocka_unit_test(limits_are_limits),
        cmocka_unit_test(names_in_messages_are_escaped),
        cmocka_unit_test(every_float_type_is_converted),
        cmocka_unit_test(floats_are_rounded_to_bfloat16),
        cmocka_unit_test(bad_values_are_told_by_tensor_and_index),
        cmocka_unit_test(long_tensors_are_read_in_pieces),
        cmocka_unit_test(a_file_that_shrinks_is_an_error),
        cmocka_unit_test(written_bytes_are_deterministic_and_aligned),
        cmocka_unit_test(every_flipped_bit_breaks_the_checksum),
        cmocka_unit_test(targets_that_are_no_files_are_refused),
        cmocka_unit_test(temporary_files_do_not_accumulate),
        cmocka_unit_test(a_full_disk_leaves_nothing),
        cmocka_unit_test(weights_round_trip_and_start_alike),
        cmocka_unit_test(gradients_are_found_in_their_order),
        cmocka_unit_test(wrong_weights_are_listed),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
