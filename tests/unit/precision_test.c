/*
** Programs of both precisions: each says which it is, refuses to go on with the other's
** checkpoint, reads the other's weights, and trains as well.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiled.h"
#include "json.h"
#include "program_run.h"
#include "report.h"
#include "spec.h"

enum { PLAIN, HALF, PRECISIONS, STEPS = 200, LAST = 10 };
static const char *const names[] = { "f32", "bf16" };

static const char lua[] =
    "return model { name = 'm', vocab = 256, context = 32, dim = 48, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = haares { blocks = 2 },\n"
    "  layers = times(3, layer { attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = 90, activation = 'swiglu' } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3 }, schedule = cosine { warmup = 0.1, min_lr = 1e-4 }, batch = 4 } }\n";

static Folder folder;
static Model *model;
static Compiled compiled[PRECISIONS];
static Ran ran;

/* {== Programs =========================================================== */

__attribute__((format(printf, 3, 4))) static void run(int precision, int status, const char *format, ...) {
    char words[256];
    va_list arguments;
    va_start(arguments, format);
    assert_true(vsnprintf(words, sizeof words, format, arguments) < (int)sizeof words);
    va_end(arguments);
    program_run(&ran, &compiled[precision].api, &folder, NULL, words);
    if (ran.status != status) fail_msg("%s: '%s': status %d, expected %d\n%s", names[precision], words, ran.status, status, ran.err);
}

/* Sentences, so that there is something to learn. */
static void make_text(void) {
    static const char *const word[] = { "the", "river", "stone", "carries", "under", "a", "bridge", "of", "light", "and" };
    static char text[20000];
    uint32_t random = 20;
    for (size_t n = 0; n + 1 < sizeof text; random = random * 1664525 + 1013904223)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", word[(random >> 16) % 10]);
    folder_write(&folder, "text", text, sizeof text - 1);
}

/* Both train from the same seed: NAME.log, NAME.w. */
static int open_programs(void **state) {
    (void)state;
    SpecError error;
    char path[256];
    folder_open(&folder);
    make_text();
    folder_write(&folder, "m.lua", lua, strlen(lua));
    snprintf(path, sizeof path, "%s/m.lua", folder.path);
    model = spec_load(path, NULL, &error);
    if (!model) fail_msg("%s", error.message);
    ModelInfo info = report_model_info(model);
    for (int i = 0; i < PRECISIONS; i++) {
        compiled_open(&compiled[i], model->graph, &info, &(CodegenOptions){ .cpu = "native", .level = 1, .bf16 = i == HALF });
        run(i, 0, "train --data text --steps %d --seed 3 --threads 2 --log %s.log --out %s.w", STEPS, names[i], names[i]);
    }
    return 0;
}

static int close_programs(void **state) {
    (void)state;
    for (int i = 0; i < PRECISIONS; i++) compiled_close(&compiled[i]);
    spec_free(model);
    folder_close(&folder);
    return 0;
}

/* }{== JSON ============================================================== */

static Json parsed(const char *text, size_t length) {
    Json j = { 0 };
    Error e = { 0 };
    if (json_parse(&j, "text", text, length, 100000, &e)) fail_msg("%s", e.text);
    return j;
}

static const JsonNode *member(const Json *j, const char *name) {
    const JsonNode *n = json_member(j, j->node, name);
    if (!n) fail_msg("expected '%s' in %s", name, j->text);
    return n;
}

static double number(const Json *j, const char *name) {
    double x = NAN;
    assert_true(json_double(member(j, name), &x));
    return x;
}

static void expect_precision(int precision, const char *text) {
    Json j = parsed(text, strcspn(text, "\n"));
    assert_string_equal(member(&j, "precision")->text, names[precision]);
    json_free(&j);
}

/* }{== Tests ============================================================= */

static void programs_say_their_precision(void **state) {
    (void)state;
    for (int i = 0; i < PRECISIONS; i++) {
        char *log, line[32];
        snprintf(line, sizeof line, ", %s; BLAS", names[i]);
        run(i, 0, "info");
        if (!strstr(ran.out, line)) fail_msg("expected '%s' in\n%s", line, ran.out);
        run(i, 0, "info --json");
        expect_precision(i, ran.out);
        run(i, 0, "bench --train --batch 1 --length 8 --steps 1 --threads 1 --json");
        expect_precision(i, ran.out);
        snprintf(line, sizeof line, "%s.log", names[i]);
        expect_precision(i, log = folder_read(&folder, line, NULL));
        free(log);
    }
}

static void checkpoints_of_the_other_are_refused(void **state) {
    (void)state;
    for (int i = 0; i < PRECISIONS; i++) {
        char expected[100];
        snprintf(expected, sizeof expected, "error: %s.w: cannot resume: expected precision %s, found %s\n", names[!i], names[i], names[!i]);
        run(i, 1, "train --data text --steps %d --seed 3 --resume --out %s.w", STEPS, names[!i]);
        if (strncmp(ran.err, expected, strlen(expected))) fail_msg("expected %sfound %s", expected, ran.err);
    }
}

static double loss_of(int precision, const char *weights) {
    run(precision, 0, "eval --weights %s.w --data text --json", weights);
    Json j = parsed(ran.out, strlen(ran.out));
    double loss = number(&j, "loss");
    json_free(&j);
    return loss;
}

/* Weights are float32 in both, and either reads the other's. */
static void weights_serve_both(void **state) {
    (void)state;
    for (int i = 0; i < PRECISIONS; i++) {
        double loss[] = { loss_of(PLAIN, names[i]), loss_of(HALF, names[i]) };
        print_message("weights of %s: %.6f, %.6f\n", names[i], loss[PLAIN], loss[HALF]);
        assert_true(loss[PLAIN] != loss[HALF] && fabs(loss[PLAIN] - loss[HALF]) < 2e-3 * loss[PLAIN]);
    }
}

/* Means of the first and the last steps' losses. */
static void losses_of(int precision, double *first, double *last) {
    char name[32];
    snprintf(name, sizeof name, "%s.log", names[precision]);
    char *log = folder_read(&folder, name, NULL), *line = strchr(log, '\n');
    *first = *last = 0;
    for (int step = 1; step <= STEPS; step++, line = strchr(line, '\n')) {
        line++;
        Json j = parsed(line, strcspn(line, "\n"));
        assert_true(number(&j, "step") == step);
        if (step <= LAST) *first += number(&j, "loss") / LAST;
        if (step > STEPS - LAST) *last += number(&j, "loss") / LAST;
        json_free(&j);
    }
    free(log);
}

static void both_learn_as_well(void **state) {
    (void)state;
    double first[PRECISIONS], last[PRECISIONS];
    for (int i = 0; i < PRECISIONS; i++) losses_of(i, &first[i], &last[i]);
    print_message("losses from %.4f to %.4f, and to %.4f in bf16\n", first[PLAIN], last[PLAIN], last[HALF]);
    assert_true(last[PLAIN] < 0.5 * first[PLAIN]);
    assert_true(last[HALF] != last[PLAIN] && fabs(last[HALF] - last[PLAIN]) < 0.02 * last[PLAIN]);
}

/* }======================================================================= */

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_say_their_precision),
        cmocka_unit_test(checkpoints_of_the_other_are_refused),
        cmocka_unit_test(weights_serve_both),
        cmocka_unit_test(both_learn_as_well),
    };
    return cmocka_run_group_tests(tests, open_programs, close_programs);
}
