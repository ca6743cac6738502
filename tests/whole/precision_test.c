/* SPDX-License-Identifier: MIT
** Programs of both precisions: each says which it is, refuses to go on with the other's
** checkpoint, reads the other's weights, and trains as well.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bf16.h"
#include "compiled.h"
#include "json.h"
#include "program_run.h"
#include "report.h"
#include "spec.h"
#include "weights.h"
#include "model_info.h"

enum { PLAIN, BF16, PRECISIONS, SERVING = PRECISIONS, BUILDS, STEPS = 200, LAST = 10 };
/* serving: bf16, not to be trained */
static const char *const names[] = { "f32", "bf16", "serving" };

static const char lua[] =
    "return model { name = 'm', vocab = 256, context = 32, dim = 48, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = haares { blocks = 2 },\n"
    "  layers = times(3, layer { attention { heads = 4, rope = { theta = 10000 } }, mlp { hidden = "
    "90, activation = 'swiglu' } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3 }, schedule = cosine { warmup = 0.1, min_lr = 1e-4 "
    "}, batch = 4 } }\n";

static Folder folder;
static Model *model;
static Compiled compiled[BUILDS];
static Ran ran;

/* == Programs ============================================================= */

__attribute__((format(printf, 3, 4))) static void run(int precision, int status, const char *format,
                                                      ...) {
    char words[256];
    va_list arguments;
    va_start(arguments, format);
    assert_true(vsnprintf(words, sizeof words, format, arguments) < (int)sizeof words);
    va_end(arguments);
    program_run(&ran, &compiled[precision].api, &folder, NULL, words);
    if (ran.status != status)
        fail_msg("%s: '%s': status %d, expected %d\n%s", names[precision], words, ran.status,
                 status, ran.err);
}

/* Sentences, so that there is something to learn. */
static void make_text(void) {
    static const char *const word[] = { "the", "river",  "stone", "carries", "under",
                                        "a",   "bridge", "of",    "light",   "and" };
    static char text[20000];
    uint32_t random = 20;
    for (size_t n = 0; n + 1 < sizeof text; random = random * 1664525 + 1013904223)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s ", word[(random >> 16) % 10]);
    folder_write(&folder, "text", text, sizeof text - 1);
}

/* Two train from the same seed: NAME.log, NAME.w. */
static int open_programs(void **state) {
    (void)state;
    Error error;
    char path[256];
    folder_open(&folder);
    make_text();
    folder_write(&folder, "m.lua", lua, strlen(lua));
    snprintf(path, sizeof path, "%s/m.lua", folder.path);
    model = spec_load(path, NULL, &error);
    if (!model) fail_msg("%s", error.text);
    ModelInfo info = model_info(model);
    for (int i = 0; i < BUILDS; i++)
        compiled_open(&compiled[i], model->graph, &info,
                      &(CodegenOptions){ .cpu = "native",
                                         .level = 1,
                                         .passes.bf16 = i != PLAIN,
                                         .passes.inference = i == SERVING });
    for (int i = 0; i < PRECISIONS; i++) {
        run(i, 0, "train --data text --steps %d --seed 3 --threads 2 --log %s.log --out %s.w",
            STEPS, names[i], names[i]);
    }
    return 0;
}

static int close_programs(void **state) {
    (void)state;
    for (int i = 0; i < BUILDS; i++)
        compiled_close(&compiled[i]);
    spec_free(model);
    folder_close(&folder);
    return 0;
}

/* == JSON ================================================================= */

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

/* == Tests ================================================================ */

static void programs_say_their_precision(void **state) {
    (void)state;
    for (int i = 0; i < PRECISIONS; i++) {
        char *log, line[32];
        snprintf(line, sizeof line, ", %s; products", names[i]);
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
        snprintf(expected, sizeof expected,
                 "error: %s.w: cannot resume: expected precision %s, found %s\n", names[!i],
                 names[i], names[!i]);
        run(i, 1, "train --data text --steps %d --seed 3 --resume --out %s.w", STEPS, names[!i]);
        if (strncmp(ran.err, expected, strlen(expected)))
            fail_msg("expected %sfound %s", expected, ran.err);
    }
}

static double loss_of(int precision, const char *weights) {
    run(precision, 0, "eval --weights %s.w --data text --json", weights);
    Json j = parsed(ran.out, strlen(ran.out));
    double loss = number(&j, "loss");
    json_free(&j);
    return loss;
}

/* Weights are float32 in both, and either reads the other's, as does what is not to be trained. */
static void weights_serve_all(void **state) {
    (void)state;
    for (int i = 0; i < PRECISIONS; i++) {
        double loss[] = { loss_of(PLAIN, names[i]), loss_of(BF16, names[i]),
                          loss_of(SERVING, names[i]) };
        print_message("weights of %s: %.6f, %.6f, %.6f\n", names[i], loss[PLAIN], loss[BF16],
                      loss[SERVING]);
        for (int k = BF16; k <= SERVING; k++)
            assert_true(loss[PLAIN] != loss[k] && fabs(loss[PLAIN] - loss[k]) < 2e-3 * loss[PLAIN]);
    }
}

/* Every parameter of SERVING is that of HALF, rounded if it is kept so. */
static void expect_rounded(const float *w, const float *serving) {
    const strata_model *m = compiled[BF16].model, *other = compiled[SERVING].model;
    int rounded = 0;
    for (int i = 0; i < m->tensors; i++)
        for (int k = 0; k < other->tensors; k++) {
            const strata_tensor *t = &strata_tensors(m)[i], *s = &strata_tensors(other)[k];
            if (strcmp(strata_string(m, t->name), strata_string(other, s->name))) continue;
            rounded += s->type != 0;
            for (int64_t n = 0; n < t->count; n++)
                if (s->type)
                    assert_int_equal(((const uint16_t *)(const void *)(serving + s->weight))[n],
                                     bf16_of(w[t->weight + n]));
                else assert_true(serving[s->weight + n] == w[t->weight + n]);
        }
    assert_true(rounded > 10 && rounded < other->tensors);
}

static void write_weights(const char *path, const strata_model *m, const float *w) {
    TensorList l = { 0 };
    Error e = { 0 };
    assert_int_equal(weights_list(&l, m, "", w, &e), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, &e), 0);
    tensors_free(&l);
}

/* Initial values, values read, and values written, which a file then holds as bfloat16. */
static void weights_are_kept_rounded(void **state) {
    (void)state;
    const strata_model *m = compiled[BF16].model, *other = compiled[SERVING].model;
    float *w = calloc(1, (size_t)m->weights_bytes),
          *serving = calloc(1, (size_t)other->weights_bytes),
          *again = calloc(1, (size_t)other->weights_bytes);
    char path[300];
    Error e = { 0 };
    assert_true(w && serving && again && 10 * other->weights_bytes < 6 * m->weights_bytes);
    weights_init(m, 11, w), weights_init(other, 11, serving);
    expect_rounded(w, serving);
    snprintf(path, sizeof path, "%s/bf16.w", folder.path);
    assert_int_equal(weights_load(m, path, w, &e), 0);
    assert_int_equal(weights_load(other, path, serving, &e), 0);
    expect_rounded(w, serving);
    snprintf(path, sizeof path, "%s/rounded.w", folder.path);
    write_weights(path, other, serving);
    assert_int_equal(weights_load(other, path, again, &e), 0);
    assert_memory_equal(again, serving, (size_t)other->weights_bytes);
    assert_int_equal(weights_load(m, path, w, &e), 0);
    expect_rounded(w, serving);
    free(w), free(serving), free(again);
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
    for (int i = 0; i < PRECISIONS; i++)
        losses_of(i, &first[i], &last[i]);
    print_message("losses from %.4f to %.4f, and to %.4f in bf16\n", first[PLAIN], last[PLAIN],
                  last[BF16]);
    assert_true(last[PLAIN] < 0.5 * first[PLAIN]);
    assert_true(last[BF16] != last[PLAIN] && fabs(last[BF16] - last[PLAIN]) < 0.02 * last[PLAIN]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_say_their_precision),
        cmocka_unit_test(checkpoints_of_the_other_are_refused),
        cmocka_unit_test(weights_serve_all),
        cmocka_unit_test(weights_are_kept_rounded),
        cmocka_unit_test(both_learn_as_well),
    };
    return cmocka_run_group_tests(tests, open_programs, close_programs);
}
