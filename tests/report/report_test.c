/* SPDX-License-Identifier: MIT
** The numbers that inspect prints: they are those of the compiled model, they add
** up, the papers' source counts come out, and as JSON they keep to the contract.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "views.h"
#include "scratch.h"
#include "model_info.h"
#include "planned.h"
#include "kept_rows.h"

static Report *report_for(const char *path, const char *cpu, PassOptions passes) {
    Error e = { 0 };
    Report *r = report_new(path, &(ReportOptions){ .cpu = cpu, .passes = passes }, &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

static Report *report_passes(const char *path, PassOptions passes) {
    return report_for(path, "native", passes);
}

/* A stack of attention and MLP, width 128. */
static Report *written_how(void **state, const char *residual, int layers, TwoPhase how) {
    char path[SCRATCH_PATH];
    FILE *f = fopen(scratch_path(state, "model.lua", path), "w");
    assert_non_null(f);
    fprintf(f,
            "return model { name = 'm', vocab = 64, context = 64, dim = 128, norm = rmsnorm {}, "
            "residual = %s,\n"
            "  layers = times(%d, layer { attention { heads = 4, rope = {} }, mlp { hidden = 256, "
            "activation = 'relu' } }) }\n",
            residual, layers);
    assert_int_equal(fclose(f), 0);
    return report_passes(path, (PassOptions){ .two_phase = how });
}

static Report *report_written(void **state, const char *residual, int layers) {
    return written_how(state, residual, layers, TWO_PHASE_AUTO);
}

static const char *const residuals[] = { "standard {}",
                                         "highway {}",
                                         "attnres { blocks = 2 }",
                                         "haares { blocks = 2 }",
                                         "hyper { streams = 2 }",
                                         "mhc { streams = 2 }",
                                         "gated_residual { streams = 2, rank = 4 }" };
enum { RESIDUALS = sizeof residuals / sizeof *residuals };

static bool close_to(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

static void same_as_compiled(const Report *r, const char *cpu, const PassOptions *passes) {
    ModelInfo info = model_info(r->model);
    CodegenOptions o = { .cpu = cpu, .level = 0, .link = true, .prefix = "m", .passes = *passes };
    CompiledModel code;
    Error error;
    assert_int_equal(planned_compile(r->model->graph, &info, &o, &code, &error), 0);
    assert_true(close_to(r->work[FORWARD].flops, code.model.flops_forward));
    assert_true(close_to(r->work[TRAINING].flops, code.model.flops_training));
    assert_int_equal(r->planned.code.nkernel, code.nkernel);
    for (int k = 0; k < code.nkernel; k++) {
        assert_string_equal(r->planned.code.kernel[k].name, code.kernel[k].name);
        assert_int_equal(r->planned.code.kernel[k].training.calls, code.kernel[k].training.calls);
        assert_int_equal(r->planned.code.kernel[k].forward.calls, code.kernel[k].forward.calls);
    }
    assert_int_equal(r->memory.weights, code.model.weights_bytes);
    assert_int_equal(r->memory.per_token, code.model.arena_per_token);
    assert_int_equal(r->memory.state_per_token, code.model.state_per_token);
    assert_int_equal(r->memory.gradients + r->memory.optimizer + r->memory.packed,
                     code.model.train_bytes);
    codegen_free(&code);
}

static void the_compiled_model_has_the_same(void **state) {
    static const PassOptions float32 = { 0 };
    for (int i = 0; i < RESIDUALS; i++) {
        Report *r = report_written(state, residuals[i], 3);
        same_as_compiled(r, "native", &float32);
        report_free(r);
    }
}

/* Every level that code can be made for, whatever this processor is. */
static const char *const level[] = {
#define LEVEL(library, below, name, cpu, more, lanes, cache, needs) name,
#define PROCESSOR(name, level, special)
#include "levels.def"
};
enum { LEVELS = sizeof level / sizeof *level };

/* Where not float32 is multiplied; how long that takes nobody predicts. */
static void so_has_one_of_fewer_bits(void **state) {
    static const PassOptions fewer[] = {
        { .bf16 = true, .cache = KEPT_BF16 },
        { .bf16 = true, .cache = KEPT_Q8, .inference = true },
        { .small = SMALL_Q4, .inference = true },
        { .bf16 = true, .small = SMALL_Q8, .cache = KEPT_BF16, .inference = true },
    };
    char path[SCRATCH_PATH];
    Report *whole = report_written(state, "haares { blocks = 2 }", 3);
    scratch_path(state, "model.lua", path);
    for (size_t i = 0; i < LEVELS * sizeof fewer / sizeof *fewer; i++) {
        const PassOptions *passes = &fewer[i / LEVELS];
        Report *r = report_for(path, level[i % LEVELS], *passes);
        same_as_compiled(r, level[i % LEVELS], passes);
        assert_true(r->memory.per_token < whole->memory.per_token);
        assert_true(r->work[FORWARD].bytes < whole->work[FORWARD].bytes);
        assert_true(r->seconds[FORWARD] == 0 && r->seconds[TRAINING] == 0);
        report_free(r);
    }
    report_free(whole);
}

static void parts_add_up(void **state) {
    for (int i = 0; i < RESIDUALS; i++) {
        Report *r = report_written(state, residuals[i], 2);
        for (int kind = 0; kind < WORKS; kind++) {
            Work kernels = { 0 }, families = { 0 };
            for (int k = 0; k < r->nkernel; k++) {
                const Work *w = &r->kernel[k].work[kind];
                kernels.calls += w->calls, kernels.flops += w->flops, kernels.bytes += w->bytes;
            }
            for (int k = 0; k < r->nfamily; k++) {
                const Work *w = &r->family[k].work[kind];
                families.calls += w->calls, families.flops += w->flops, families.bytes += w->bytes;
            }
            assert_int_equal(kernels.calls, r->work[kind].calls);
            assert_int_equal(families.calls, r->work[kind].calls);
            assert_true(close_to(kernels.flops, r->work[kind].flops)
                        && close_to(families.flops, r->work[kind].flops));
            assert_true(close_to(kernels.bytes, r->work[kind].bytes)
                        && close_to(families.bytes, r->work[kind].bytes));
        }
        assert_true(r->work[TRAINING].flops > 2.5 * r->work[FORWARD].flops
                    && r->work[TRAINING].flops < 3.6 * r->work[FORWARD].flops);
        report_free(r);
    }
}

/* Products: 2 operations a weight; attention: 4 D (T + 1) / 2. */
static void flops_of_a_plain_model_are_the_textbook_s(void **state) {
    Report *r = report_written(state, "standard {}", 4);
    double D = 128, H = 256, V = 64, T = 64, products = 0, attention = 0;
    for (int i = 0; i < r->nfamily; i++) {
        if (!strcmp(r->family[i].name, "product")) products = r->family[i].work[FORWARD].flops;
        if (!strcmp(r->family[i].name, "sequence")) attention = r->family[i].work[FORWARD].flops;
    }
    assert_true(close_to(products, 2 * (4 * (4 * D * D + 2 * D * H) + V * D)));
    assert_true(close_to(attention, 4 * 4 * D * (T + 1) / 2));
    report_free(r);
}

static double beyond_flops(const Report *r, const char *kernel) {
    for (int i = 0; i < r->nkernel; i++) {
        const Work *w = &r->kernel[i].work[TRAINING];
        if (!strcmp(r->kernel[i].name, kernel)) return w->functions / w->flops;
    }
    fail_msg("expected a kernel %s", kernel);
    return 0;
}

/* Four columns take at least a vector's panel, four steps a whole tile, four rows the packing of
** the others; what is added to wide ones is little. */
static void narrow_products_take_longer(void **state) {
    Report *r = report_written(state, "gated_residual { streams = 2, rank = 4 }", 3);
    static const char *const pair[][2] = {
        { "linear_4x256", "linear_128x128" },
        { "linear_back_4x256", "linear_back_128x128" },
        { "linear_weight_4x256", "linear_weight_128x128" },
    };
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        double narrow = beyond_flops(r, pair[i][0]), wide = beyond_flops(r, pair[i][1]);
        assert_true(wide > 0 && wide < 0.2 && narrow > 0.4 && narrow > 3 * wide);
    }
    report_free(r);
}

/* Operations of products per token, and the number of kernels. */
static void of_experts(void **state, int experts, double flops[WORKS], int *kernels) {
    char path[SCRATCH_PATH], text[400];
    int n = snprintf(text, sizeof text,
                     "return model { name = 'm', vocab = 64, context = 64, dim = 128, norm = "
                     "rmsnorm {},\n  layers = times(3, layer { moe { experts = %d, top = 2, hidden "
                     "= 96 } }) }\n",
                     experts);
    scratch_write(scratch_path(state, "experts.lua", path), text, (size_t)n);
    Report *r = report_passes(path, (PassOptions){ 0 });
    for (int i = 0; i < r->nfamily; i++)
        for (int kind = 0; kind < WORKS && !strcmp(r->family[i].name, "product"); kind++)
            flops[kind] = r->family[i].work[kind].flops;
    *kernels = r->nkernel;
    report_free(r);
}

/* Two experts of three matrices, the router, and the head; neither operations of experts nor
** kernels are more where there are more to choose from. */
static void work_of_experts_is_that_of_the_chosen(void **state) {
    double some[WORKS], many[WORKS], D = 128, F = 96, V = 64;
    int kernels, more;
    of_experts(state, 32, some, &kernels);
    of_experts(state, 256, many, &more);
    assert_true(close_to(some[FORWARD], 2 * (3 * (2 * 3 * D * F + 32 * D) + V * D)));
    assert_true(close_to(many[FORWARD], 2 * (3 * (2 * 3 * D * F + 256 * D) + V * D)));
    assert_true(close_to(many[TRAINING], 3 * many[FORWARD]));
    assert_int_equal(kernels, more);
}

static void source_counts_are_the_papers(void **state) {
    static const struct {
        const char *name;
        int layers, blocks;
        double average;
        int most;
    } row[] = {
        { "attnres", 48, 4, 332 / 96.0, 5 }, { "haares", 48, 4, 568 / 96.0, 9 },
        { "attnres", 48, 6, 426 / 96.0, 7 }, { "haares", 48, 6, 756 / 96.0, 13 },
        { "attnres", 48, 8, 520 / 96.0, 9 }, { "haares", 48, 8, 944 / 96.0, 17 },
        { "attnres", 12, 4, 80 / 24.0, 5 },  { "haares", 24, 4, 280 / 48.0, 9 },
        { "attnres", 12, 1, 47 / 24.0, 2 },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char residual[64];
        snprintf(residual, sizeof residual, "%s { blocks = %d }", row[i].name, row[i].blocks);
        Report *r = report_written(state, residual, row[i].layers);
        assert_true(close_to(r->sources_average, row[i].average));
        assert_int_equal(r->sources_most, row[i].most);
        assert_int_equal(r->model->nread, 2 * row[i].layers + 1);
        assert_int_equal(r->model->read[2 * row[i].layers].sources, row[i].blocks + 1);
        report_free(r);
    }
}

/* The first read is of the embedding alone, and its norm: 2 rows; then 4, or sources and 3. */
static void depth_traffic_of_one_pass_and_of_two_phases(void **state) {
    Report *r = report_written(state, "standard {}", 6);
    assert_true(close_to(r->traffic.all, (2 + 11 * 4) / 12.0));
    assert_true(close_to(r->traffic.mixing, r->traffic.all - 1));
    report_free(r);
    r = written_how(state, "attnres { blocks = 8 }", 64, TWO_PHASE_OFF);
    assert_true(fabs(r->traffic.all - 8.3) < 0.05);
    report_free(r);
    r = written_how(state, "attnres { blocks = 8 }", 64, TWO_PHASE_ON);
    assert_true(r->traffic.all > 4 && r->traffic.all < 6);
    report_free(r);
}

static double number_of(const Json *j, const JsonNode *in, const char *key) {
    double value = 0;
    const JsonNode *n = json_member(j, in, key);
    if (!n || !json_double(n, &value)) fail_msg("expected a number under %s", key);
    return value;
}

static const JsonNode *member(const Json *j, const JsonNode *in, const char *key, JsonType type,
                              uint32_t count) {
    const JsonNode *n = json_member(j, in, key);
    if (!n || n->type != type || (count && n->count != count)) fail_msg("expected %s", key);
    return n;
}

static void json_keeps_to_the_contract(void **state) {
    Report *r = report_written(state, "haares { blocks = 2 }", 2);
    static const char *const memory[] = { "weights",         "gradients",      "optimizer",
                                          "packed_weights",  "per_token",      "constant",
                                          "state_per_token", "state_constant", "state_carried" };
    static const char *const kernel[] = { "count", "flops", "bytes" };
    Text t = { 0 };
    Json j;
    Error e = { 0 };
    report_json(r, &t);
    assert_int_equal(json_parse(&j, "report", t.at, t.length, 1 << 20, &e), 0);
    const JsonNode *root = &j.node[0], *flops = member(&j, root, "flops_per_token", JSON_OBJECT, 0);
    assert_true(number_of(&j, root, "parameters") == (double)r->model->parameters);
    assert_true(number_of(&j, flops, "forward") == r->work[FORWARD].flops);
    assert_true(number_of(&j, flops, "training") == r->work[TRAINING].flops);
    assert_true(number_of(&j, root, "bytes_per_token") == r->work[TRAINING].bytes);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        number_of(&j, member(&j, root, "memory", JSON_OBJECT, 0), memory[i]);
    const JsonNode *reads = member(&j, root, "reads", JSON_ARRAY, 5);
    for (const JsonNode *n = json_first(&j, reads); n; n = json_next(&j, n))
        member(&j, n, "site", JSON_STRING, 0), assert_true(number_of(&j, n, "sources") >= 1);
    const JsonNode *kernels = member(&j, root, "kernels", JSON_ARRAY, (uint32_t)r->nkernel);
    for (const JsonNode *n = json_first(&j, kernels); n; n = json_next(&j, n)) {
        member(&j, n, "name", JSON_STRING, 0), member(&j, n, "family", JSON_STRING, 0);
        for (int i = 0; i < 3; i++)
            number_of(&j, n, kernel[i]);
    }
    json_free(&j);
    text_free(&t);
    report_free(r);
}

static void a_wrong_spec_is_said_to_be(void **state) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    scratch_write(scratch_path(state, "wrong.lua", path), "return 3\n", 9);
    assert_null(report_new(path, &(ReportOptions){ 0 }, &e));
    assert_int_equal(e.status, STATUS_USER);
    assert_non_null(strstr(e.text, "wrong.lua"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_compiled_model_has_the_same, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(so_has_one_of_fewer_bits, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(parts_add_up, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(flops_of_a_plain_model_are_the_textbook_s, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(narrow_products_take_longer, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(work_of_experts_is_that_of_the_chosen, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(source_counts_are_the_papers, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(depth_traffic_of_one_pass_and_of_two_phases, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(json_keeps_to_the_contract, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_wrong_spec_is_said_to_be, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
