/* SPDX-License-Identifier: MIT
** A model's parameters as tensors of a file: they come back, gradients are found by their
** place, and a file of another model's is refused in words that list what differs.
*/
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "little_model.h"
#include "safetensors.h"
#include "scratch.h"
#include "strata.h"
#include "weights.h"

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

/* As embedders call it. */
static void null_pointers_are_refused(void **state) {
    char path[SCRATCH_PATH], why[80];
    float w[4] = { 0 };
    const strata_model *m = little_model();
    scratch_path(state, "none", path);
    strata_weights_init(NULL, 1, w), strata_weights_init(m, 1, NULL);
    for (int write = 0; write < 2; write++) {
        for (int i = 0; i < 3; i++) {
            const strata_model *a = i == 0 ? NULL : m;
            const char *b = i == 1 ? NULL : path;
            float *c = i == 2 ? NULL : w;
            int32_t status = write ? strata_weights_write(a, b, c, why, sizeof why)
                                   : strata_weights_read(a, b, c, why, sizeof why);
            assert_int_equal(status, STATUS_USER);
            assert_non_null(strstr(why, "expected a pointer, found NULL"));
        }
        assert_int_equal(strata_weights_read(NULL, NULL, NULL, NULL, 0), STATUS_USER);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(weights_round_trip_and_start_alike),
        cmocka_unit_test(gradients_are_found_in_their_order),
        cmocka_unit_test(wrong_weights_are_listed),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
