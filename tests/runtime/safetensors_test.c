/* SPDX-License-Identifier: MIT
** safetensors: what must be refused, with which status and words.  The table of malformed
** files is the contract of the reader.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors.h"
#include "scratch.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_files_are_refused),
        cmocka_unit_test(lengths_are_checked_before_use),
        cmocka_unit_test(other_things_than_files_are_refused),
        cmocka_unit_test(limits_are_limits),
        cmocka_unit_test(names_in_messages_are_escaped),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
