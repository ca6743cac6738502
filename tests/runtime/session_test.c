/* SPDX-License-Identifier: MIT
** Weights that update left packed are taken for as long as they are what was packed. */
#include "test.h"

#include "mock_model.h"
#include "session.h"

static void written_weights_are_not_packed(void **state) {
    (void)state;
    Session s;
    Error e = { 0 };
    assert_int_equal(
        session_open(&s,
                     mock_api(&(MockOptions){
                         .tokenizer = "bytes", .vocab = 24, .context = 16, .batch = 4 }),
                     NULL, 1, &e),
        0);
    assert_int_equal(session_weights(&s, &e), 0);
    assert_int_equal(session_train(&s, &e), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s.packed, 0);
        assert_int_equal(session_update(&s, s.ctx.at, 1e-3, 1, 1, &e), 0);
        assert_int_equal(s.packed, STRATA_PACKED);
        assert_ptr_equal(session_w(&s), s.weights.at);
        assert_int_equal(s.packed, STRATA_PACKED);
        assert_ptr_equal(session_write_weights(&s), s.weights.at);
    }
    assert_int_equal(strata_packed_bytes(s.m), 0); /* this model keeps none */
    session_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(written_weights_are_not_packed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
