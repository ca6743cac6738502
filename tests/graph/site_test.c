/* SPDX-License-Identifier: MIT
** Names of places, taken apart. */
#include "test.h"

#include "site.h"

static void a_layer_has_a_number(void **state) {
    (void)state;
    assert_int_equal(site_layer("layers.3.mlp"), 3);
    assert_int_equal(site_layer("layers.12"), 12);
    assert_int_equal(site_layer("layers.first.mlp"), -1);
    assert_int_equal(site_layer("readout"), -1);
    assert_int_equal(site_layer(NULL), -1);
}

static void names_have_parts(void **state) {
    (void)state;
    assert_string_equal(site_inside("layers.3.mlp.gate.weight"), "mlp.gate.weight");
    assert_string_equal(site_inside("embedding.weight"), "embedding.weight");
    assert_string_equal(site_last("layers.3.mlp"), "mlp");
    assert_string_equal(site_last("readout"), "readout");
}

static void a_place_is_in_another(void **state) {
    (void)state;
    assert_true(site_within("layers.1.mlp", "layers.1"));
    assert_true(site_within("layers.1", "layers.1"));
    assert_false(site_within("layers.10.mlp", "layers.1"));
    assert_false(site_within("layers", "layers.1"));
    assert_true(site_is_mixer("layers.1.mlp.residual.query"));
    assert_false(site_is_mixer("layers.1.mlp.gate.weight"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_has_a_number),
        cmocka_unit_test(names_have_parts),
        cmocka_unit_test(a_place_is_in_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
