/* SPDX-License-Identifier: MIT
** Importers against transformers: of each architecture a tiny checkpoint, as it writes them, and
** the logits that it computes (tests/interop/fixtures.py).  What an importer makes of one, a spec
** and weights, computes the same with the float64 interpreter.
*/
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "importer.h"
#include "scratch.h"
#include "spec.h"
#include "stored_logits.h"

/* == Importing ============================================================ */

static void read_config(const CheckpointFolder *c, Json *j) {
    Error e = { 0 };
    bool there;
    if (folder_json(c, "config.json", FOLDER_CONFIG, FOLDER_CONFIG_VALUES, j, &there, &e))
        fail_msg("%s", e.text);
    assert_true(there);
}

/* The spec's model, and the weights in a file of the test's folder; importer: NULL, or a file. */
static Model *import_case(void **state, const char *folder, const char *importer, bool keep,
                          char path[SCRATCH_PATH]) {
    CheckpointFolder c;
    Json config = { 0 };
    Imported made;
    Error e = { 0 };
    if (folder_load(&c, folder, &e)) fail_msg("%s", e.text);
    read_config(&c, &config);
    const ImportRequest r = {
        .folder = &c, .config = &config, .importer = importer, .name = "m", .keep = keep
    };
    if (importer_run(&r, &made, &e)) fail_msg("%s", e.text);
    Model *m = spec_load_text("m.lua", made.spec.at, made.spec.length, NULL, NULL, &e);
    if (!m) fail_msg("%s", e.text);
    assert_int_equal(made.plan.count, graph_tensors(m->graph));
    scratch_path(state, "m.safetensors", path);
    if (plan_write(&made.plan, path, &e)) fail_msg("%s", e.text);
    importer_free(&made);
    json_free(&config);
    folder_free(&c);
    return m;
}

/* == Evaluating =========================================================== */

static void compare(const double *got, const float *want, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(want[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-5 * most))
            fail_msg("logit %lld is %.9g, expected %.9g", (long long)i, got[i], want[i]);
}

static void check_logits(const Model *m, const char *weights, const char *expected) {
    Safetensors s;
    Error e = { 0 };
    int64_t count;
    if (safetensors_open(&s, expected, &e)) fail_msg("%s", e.text);
    const Tensor *tokens = safetensors_find(&s, "tokens"), *logits = safetensors_find(&s, "logits");
    int32_t *ids = malloc((size_t)tokens->count * sizeof *ids);
    float *want = malloc((size_t)logits->count * sizeof *want);
    assert_int_equal(safetensors_read_i32(&s, tokens, ids, &e), 0);
    assert_int_equal(safetensors_read_f32(&s, logits, want, &e), 0);
    double *got = stored_logits(m, weights, tokens->shape[0], tokens->shape[1], ids, &count, &e);
    if (!got) fail_msg("%s", e.text);
    assert_int_equal(count, logits->count);
    compare(got, want, count);
    free(got);
    free(ids);
    free(want);
    safetensors_close(&s);
}

/* Weights in float32, and as they are. */
static void check_case(void **state, const char *name, const char *importer) {
    char folder[1024], expected[1100], path[SCRATCH_PATH];
    print_text(folder, sizeof folder, "%s/tests/checkpoints/%s", SOURCE_DIR, name);
    print_text(expected, sizeof expected, "%s/expected.safetensors", folder);
    for (int keep = 0; keep < 2; keep++) {
        Model *m = import_case(state, folder, importer, keep, path);
        check_logits(m, path, expected);
        spec_free(m);
    }
}

#define CASE(name) \
    static void test_##name(void **state) { check_case(state, #name, NULL); }
#include "import_cases.def"

/* == The page that teaches importers ====================================== */

/* Its last file, as it is written there. */
static void test_page(void **state) {
    char path[SCRATCH_PATH];
    char *page = scratch_read(SOURCE_DIR "/specs/library/importers.md", &(size_t){ 0 });
    assert_non_null(page);
    static const char head[] = "`phi.lua`:\n\n```lua\n";
    const char *text = strstr(page, head), *end = text ? strstr(text, "\n```\n") : NULL;
    assert_non_null(end);
    text += sizeof head - 1;
    scratch_write(scratch_path(state, "phi.lua", path), text, (size_t)(end + 1 - text));
    check_case(state, "phi3", path);
    free(page);
}

/* == What is kept ========================================================= */

static void test_types(void **state) {
    char path[SCRATCH_PATH];
    Safetensors s;
    Error e = { 0 };
    Model *m = import_case(state, SOURCE_DIR "/tests/checkpoints/gemma3_text", NULL, true, path);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    /* what is stored as it was, and 1 + w, which bfloat16 cannot hold */
    assert_int_equal(safetensors_find(&s, "embed.weight")->dtype, DTYPE_BF16);
    assert_int_equal(safetensors_find(&s, "final_norm.weight")->dtype, DTYPE_F32);
    safetensors_close(&s);
    spec_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test(test_##name),
#include "import_cases.def"
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
