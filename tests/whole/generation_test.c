/* SPDX-License-Identifier: MIT
** Whole programs, from a spec on: what a trained program writes is what its own logits say,
** those of a whole pass and those of the tokens one by one.
*/
#include "test.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learners.h"
#include "safetensors.h"

/* What logits may differ by, relative to the largest. */
static const double logit_allowed = 3e-5;

static Folder folder;

static int open_folder(void **state) {
    static char text[TEXT + 1];
    (void)state;
    learners_open(&folder, text);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* Logits [count, VOCAB] of one sequence, malloc'ed; 'how': in one pass, or token by token. */
static float *logits_of(const Learner *p, const int32_t *ids, int64_t count, const char *how) {
    TensorList l = { 0 };
    Safetensors file = { 0 };
    Error e = { 0 };
    int64_t shape[] = { 1, count };
    char path[256];
    snprintf(path, sizeof path, "%s/tokens", folder.path);
    assert_int_equal(tensors_add(&l, "", "tokens", DTYPE_I32, 2, shape, ids, NULL), 0);
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    folder_shell(&folder, "./%s logits --weights weights --tokens tokens --out logits %s", p->name,
                 how);
    snprintf(path, sizeof path, "%s/logits", folder.path);
    if (safetensors_open(&file, path, &e)) fail_msg("%s", e.text);
    const Tensor *t = safetensors_find(&file, "logits");
    assert_true(t && t->count == count * VOCAB);
    float *x = malloc((size_t)t->count * sizeof *x);
    assert_true(x && safetensors_read_f32(&file, t, x, &e) == 0);
    safetensors_close(&file);
    return x;
}

static double largest(const float *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* Id number i is the likeliest after those before it. Of two that rounding could exchange, either
** is. */
static void check_likeliest(const float *logits, const int32_t *ids, int64_t i) {
    const float *row = logits + (i - 1) * VOCAB;
    int best = 0;
    for (int v = 1; v < VOCAB; v++)
        if (row[v] > row[best]) best = v;
    if (row[best] - row[ids[i]] > logit_allowed * largest(row, VOCAB))
        fail_msg("token %d: wrote '%c', expected '%c'", (int)i, ids[i], best);
}

/* Continues a prompt to the end of the context, checks every byte of it; adds those seen to
** 'seen'. */
static void check_writing(const Learner *p, const char *prompt, bool seen[VOCAB]) {
    int32_t ids[CONTEXT] = { 0 };
    size_t given = strlen(prompt), length;
    folder_shell(&folder, "./%s generate --weights weights --prompt '%s' --temperature 0", p->name,
                 prompt);
    char *out = folder_read(&folder, "out", &length);
    if (length == CONTEXT - given + 1 && out[length - 1] == '\n') length--; /* the line's end */
    assert_int_equal(given + length, CONTEXT);
    for (size_t i = 0; i < CONTEXT; i++)
        ids[i] = (unsigned char)(i < given ? prompt[i] : out[i - given]);
    float *whole = logits_of(p, ids, CONTEXT, ""),
          *steps = logits_of(p, ids, CONTEXT, "--as-generated");
    for (int64_t i = (int64_t)given; i < CONTEXT; i++) {
        check_likeliest(whole, ids, i);
        seen[ids[i]] = true;
    }
    double allowed = logit_allowed * largest(whole, CONTEXT * VOCAB);
    for (int64_t i = 0; i < CONTEXT * VOCAB; i++)
        assert_true(fabs(whole[i] - steps[i]) <= allowed);
    free(out), free(whole), free(steps);
}

static void writes_the_likeliest(void **state) {
    (void)state;
    static const char *const prompt[] = { "t", "a st", "carries u", "of light and the" };
    const Learner *const learner[] = { &details, &depth_reads };
    for (int p = 0; p < 2; p++) {
        bool seen[VOCAB] = { false };
        int different = 0;
        learner_build(&folder, learner[p]);
        folder_shell(&folder,
                     "./%s train --data text --steps 300 --lr 0.01 --out weights --overwrite",
                     learner[p]->name);
        for (int i = 0; i < 4; i++)
            check_writing(learner[p], prompt[i], seen);
        for (int v = 0; v < VOCAB; v++)
            different += seen[v];
        if (different < 4)
            fail_msg("%s: expected at least 4 different characters, found %d", learner[p]->name,
                     different);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_likeliest),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
