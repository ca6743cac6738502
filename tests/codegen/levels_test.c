/* SPDX-License-Identifier: MIT
** Every level of levels.def has its kernel library in the compiler, and code is made for it. */
#include "test.h"

#include <string.h>

#include "blobs.h"
#include "codegen.h"
#include "planned.h"
#include "levels.h"
#include "compiled_spec.h"
#include "scratch_spec.h"

static const struct {
    const char *name, *features;
    int needs;
} level[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) { name, more, NEEDS_##library },
#include "levels.def"
};

/* Tiles multiply float32 too. */
static bool is_special(int i) {
    return level[i].needs & (FEATURE_BF16 | FEATURE_AVXVNNI) && !(level[i].needs & FEATURE_AMX);
}

static void every_level_has_its_library(void **state) {
    (void)state;
    for (int i = 0; i < LEVELS; i++) {
        size_t size, other;
        const char *at = blob_kernels(i, &size);
        assert_true(size > 4096);
        assert_memory_equal(at, "BC\xc0\xde", 4);
        for (int k = 0; k < i; k++) {
            const char *before = blob_kernels(k, &other);
            assert_false(other == size && !memcmp(at, before, size));
        }
    }
}

static const char *compiled_for(void **state, const char *cpu, bool bf16, CompiledModel *code) {
    Model *m = scratch_model(
        state,
        "return model { name = 'some', vocab = 20, context = 8, dim = 16, norm = rmsnorm "
        "{}, layers = times(1, layer { mlp { hidden = 16 } }) }\n");
    ModelInfo info = spec_info(m);
    Error error;
    CodegenOptions o = {
        .cpu = cpu, .level = 1, .emit = EMIT_OBJ, .link = true, .prefix = "m", .passes.bf16 = bf16
    };
    if (planned_compile(m->graph, &info, &o, code, &error)) fail_msg("%s", error.text);
    spec_free(m);
    return code->cpu;
}

/* With --precision bf16 or --weights what its name says, without the next below that is plain. */
static void every_level_is_compiled_for(void **state) {
    for (int i = 0, plain = 0; i < LEVELS; i++) {
        if (!is_special(i)) plain = i;
        for (int bf16 = 0; bf16 < 2; bf16++) {
            CompiledModel code;
            int expected = bf16 ? i : plain;
            assert_string_equal(compiled_for(state, level[i].name, bf16, &code),
                                level[expected].name);
            assert_string_equal(code.features, level[expected].features);
            codegen_free(&code);
        }
    }
}

/* What native takes is the last of those that fit: none may need more than a later one, or all of
** its own and nothing else. */
static void later_levels_need_more(void **state) {
    (void)state;
    for (int i = 1; i < LEVELS; i++)
        for (int k = 0; k < i; k++)
            if ((level[i].needs & level[k].needs) == level[i].needs)
                fail_msg("%s needs nothing that %s does not", level[i].name, level[k].name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_has_its_library),
        cmocka_unit_test_setup_teardown(every_level_is_compiled_for, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(later_levels_need_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
