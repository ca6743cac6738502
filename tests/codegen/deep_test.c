/* SPDX-License-Identifier: MIT
** Specs whose graphs are deeper than a stack, or have more paths than could be walked: they are
** planned and compiled by a thread whose stack is a fraction of what a recursion over their nodes
** would take, and none of the steps runs for ever.
*/
#include "test.h"

#include <pthread.h>
#include <stdio.h>

#include "compiled_spec.h"
#include "planned.h"
#include "scratch_spec.h"

enum { STACK = 256 << 10, COMPILE_STACK = 1 << 20, DEEP = 12000, COMPILED = 5000 };

/* Of a mixer: 'read' makes h of s.h; %d is how many times. */
static const char *const deep[] = {
    /* tokens' values, a parameter's, and the gradient of one that is read everywhere */
    "local h = s.h for i = 1, %d do h = h * 1.0001 end return h",
    "local h = m:param(site, 'q', { 4 }, 1) for i = 1, %d do h = h * 1.0001 end return s.h * h",
    "local h, c = s.h, m:param(site, 'q', { 4 }, 1) for i = 1, %d do h = h + c end return h",
    /* sums of other shapes in turn */
    "local h = s.h for i = 1, %d / 20 do h = h * reshape(sum(h * h, 1), { 1 }) end return h",
    /* views of views */
    "local h = reshape(s.h, { 2, 2 }) for i = 1, %d do h = transpose(h + 1, { 2, 1 }) end "
    "return reshape(h, { 4 })",
    "local h = s.h for i = 1, %d / 4 do h = concat({ slice(h, 1, 2, 3), slice(h, 1, 1, 1) }, 1) "
    "end return h",
};

/* Twice as many paths with each step. */
static const char *const wide[] = {
    "local c = reshape(1, { 1 }) for i = 1, 60 do c = reshape(c + reshape(c, { 1, 1 }), { 1 }) end "
    "return s.h * c",
    "local h = s.h for i = 1, 60 do h = h + transpose(reshape(h, { 1, 4 }), { 2, 1 }) "
    "h = reshape(slice(h, 1, 1, 1), { 4 }) end return h",
    "local c = m:param(site, 'q', { 4 }, 1) for i = 1, 60 do c = c + c * c end return s.h * c",
};

static Model *model_of(void **state, const char *read, int times) {
    char text[400];
    snprintf(text, sizeof text, read, times);
    return scratch_model(state,
                         "local m = mixer { open = function(m, e) return { h = e } end,\n"
                         "read = function(m, s, site) %s end,\n"
                         "write = function(m, s, site, o) return { h = s.h + o } end,\n"
                         "close = function(m, s) return s.h end }\n"
                         "return model { name = 'd', vocab = 16, context = 8, dim = 4,\n"
                         "norm = rmsnorm {}, residual = m {}, layers = { layer { mlp { hidden = 4 "
                         "} } } }\n",
                         text);
}

static void *plan(void *model) {
    const Model *m = model;
    ModelInfo info = spec_info(m);
    for (Keep keep = KEEP_AUTO; keep <= KEEP_FAST; keep++) {
        Planned planned;
        Error why;
        CodegenOptions o = { .cpu = "x86-64-v3", .prefix = "d", .passes.keep = keep };
        if (planned_make(m->graph, &info, &o, &planned, &why)) return "not planned";
        planned_free(&planned);
    }
    return NULL;
}

static void *compile(void *model) {
    const Model *m = model;
    ModelInfo info = spec_info(m);
    CompiledModel c;
    Error why;
    CodegenOptions o = { .cpu = "x86-64-v3", .prefix = "d", .emit = EMIT_IR };
    if (planned_compile(m->graph, &info, &o, &c, &why)) return "not compiled";
    codegen_free(&c);
    return NULL;
}

static void in_thread(void *work(void *), size_t stack, Model *m) {
    pthread_attr_t attr;
    pthread_t thread;
    void *wrong = NULL;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, stack), 0);
    assert_int_equal(pthread_create(&thread, &attr, work, m), 0);
    pthread_join(thread, &wrong);
    pthread_attr_destroy(&attr);
    if (wrong) fail_msg("%s", (const char *)wrong);
    spec_free(m);
}

static void deep_graphs_are_planned(void **state) {
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++)
        in_thread(plan, STACK, model_of(state, deep[i], DEEP));
}

static void deep_graphs_are_compiled(void **state) {
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++)
        in_thread(compile, COMPILE_STACK, model_of(state, deep[i], COMPILED));
}

static void many_paths_are_walked_once(void **state) {
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        in_thread(plan, STACK, model_of(state, wide[i], 0));
        in_thread(compile, COMPILE_STACK, model_of(state, wide[i], 0));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deep_graphs_are_planned, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(deep_graphs_are_compiled, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(many_paths_are_walked_once, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
