/* SPDX-License-Identifier: MIT
** Weights that remember which tokenizer's file they were trained with. */
#include "test.h"

#include <string.h>

#include "scratch.h"
#include "tokenizer_identity.h"

/* A file of weights with the metadata of 't'. */
static void write_weights(const char *path, const Tokenizer *t) {
    TensorList l = { 0 };
    Pair pair[2];
    const float w[2] = { 1, 2 };
    int pairs = tokenizer_metadata(t, pair);
    assert_int_equal(tensors_add(&l, "", "w", DTYPE_F32, 1, (int64_t[]){ 2 }, w, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, pair, pairs, 0, NULL), 0);
    tensors_free(&l);
}

static int expect(const char *path, const Tokenizer *t, Error *e) {
    Safetensors s;
    *e = (Error){ 0 };
    assert_int_equal(safetensors_open(&s, path, e), 0);
    int status = tokenizer_expect(&s, t, e);
    safetensors_close(&s);
    return status;
}

static void another_file_is_refused_by_name(void **state) {
    char path[SCRATCH_PATH];
    Tokenizer a = { 0 }, b = { 0 };
    Error e;
    tokenizer_identify(&a, "some/folder/a.json", "abc", 3);
    tokenizer_identify(&b, "b.json", "abd", 3);
    assert_string_equal(a.name, "a.json");
    assert_string_equal(a.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    write_weights(scratch_path(state, "w", path), &a);
    assert_int_equal(expect(path, &a, &e), STATUS_OK);
    assert_int_equal(expect(path, &b, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "expected weights trained with the tokenizer b.json (a52d159f"));
    assert_non_null(strstr(e.text, "found those of a.json (ba7816bf8f01)"));
    tokenizer_called(&b, "renamed.json", a.sha256);
    assert_int_equal(expect(path, &b, &e), STATUS_OK);
}

static void weights_and_tokenizers_without_a_file(void **state) {
    char path[SCRATCH_PATH];
    Tokenizer a = { 0 }, none = { 0 };
    Error e;
    tokenizer_identify(&a, "a.json", "abc", 3);
    write_weights(scratch_path(state, "w", path), &a);
    assert_int_equal(expect(path, &none, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "trained without a tokenizer's file, found those of a.json"));
    write_weights(path, &none);
    assert_int_equal(expect(path, &a, &e), STATUS_OK);
    assert_int_equal(expect(path, &none, &e), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_file_is_refused_by_name),
        cmocka_unit_test(weights_and_tokenizers_without_a_file),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
