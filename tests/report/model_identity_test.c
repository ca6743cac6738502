/* SPDX-License-Identifier: MIT
** What makes a model another one, and what does not. */
#include "test.h"

#include <string.h>

#include "model_identity.h"
#include "scratch_spec.h"

/* Before the model, its name, its residual, its settings. */
#define MODEL                                                                                   \
    "%s\nreturn model { name = '%s', vocab = 256, context = 32, dim = 16, norm = rmsnorm {},\n" \
    "  tokenizer = '%s', residual = %s, layers = times(2, layer { attention { heads = 2 },\n"   \
    "  mlp { hidden = 32, activation = 'swiglu' } }),\n"                                        \
    "  train = { optimizer = adamw { lr = %s }, batch = 2, %s } }"

#define HALF "groups = { { match = { '*.mlp.*' }, lr = 0.5 } }"

typedef struct ModelText {
    const char *before, *name, *tokenizer, *residual, *rate, *tuned;
} ModelText;

static void identify(void **state, const ModelText *x, char to[65]) {
    Model *m = scratch_model(state, MODEL, x->before, x->name, x->tokenizer, x->residual, x->rate,
                             x->tuned);
    assert_non_null(m);
    model_identity(m, to);
    spec_free(m);
}

static const ModelText plain = { "", "m", "chars", "haares { blocks = 2 }", "1e-3", HALF };

static void a_model_is_what_its_text_makes(void **state) {
    static const ModelText same[] = {
        { "-- words\nlocal unused = 1\n", "m", "chars", "haares { blocks = 1 + 1 }", "0.001",
          "groups = { { match = { '*.mlp.*' }, lr = 1 / 2 } }" },
    };
    static const ModelText other[] = {
        { "", "n", "chars", "haares { blocks = 2 }", "1e-3", HALF },
        { "", "m", "bytes", "haares { blocks = 2 }", "1e-3", HALF },
        { "", "m", "chars", "haares { blocks = 1 }", "1e-3", HALF },
        { "", "m", "chars", "haares { blocks = 2, eps = 1e-3 }", "1e-3", HALF },
        { "", "m", "chars", "haares { blocks = 2 }", "2e-3", HALF },
        { "", "m", "chars", "haares { blocks = 2 }", "1e-3",
          "groups = { { match = { '*.mlp.*' }, lr = 0.25 } }" },
        { "", "m", "chars", "haares { blocks = 2 }", "1e-3", "freeze = { '*.mlp.*' }" },
    };
    char own[65], found[65];
    identify(state, &plain, own);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        identify(state, &same[i], found);
        assert_string_equal(found, own);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        identify(state, &other[i], found);
        if (!strcmp(found, own)) fail_msg("model %zu: expected another identity", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_is_what_its_text_makes, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
