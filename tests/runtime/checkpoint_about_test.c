/* SPDX-License-Identifier: MIT
** What files say of the run that made them: those without moments, and those of before.
*/
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "little_model.h"
#include "scratch.h"
#include "weights.h"

typedef struct Run {
    float weights[LITTLE_PARAMETERS], train[3 * LITTLE_PARAMETERS];
    Checkpoint c;
} Run;

static void run_at(Run *r, int64_t step) {
    memset(r, 0, sizeof *r);
    weights_init(little_model(), 1, r->weights);
    checkpoint_defaults(&r->c, little_model());
    r->c.steps = 1000;
    r->c.step = step;
}

/* Files without moments say the same, and are no checkpoints. */
static void weights_alone(void **state) {
    char path[SCRATCH_PATH], before[SCRATCH_PATH];
    CheckpointFile f;
    Safetensors s;
    Checkpoint c;
    Error e = { 0 };
    Run r;
    float w[LITTLE_PARAMETERS];
    scratch_empty(state);
    scratch_path(state, "w", path);
    run_at(&r, 17);
    r.c.words = "{}";
    for (int keep = 0; keep < 2; keep++) {
        assert_int_equal(
            checkpoint_save_weights(path, little_model(), r.weights, NULL, &r.c, keep, &e), 0);
        assert_int_equal(access(scratch_path(state, "w.prev", before), F_OK), keep ? 0 : -1);
    }
    assert_int_equal(weights_load(little_model(), path, w, &e), 0);
    assert_memory_equal(w, r.weights, sizeof w);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_true(checkpoint_about(&s, &c));
    assert_int_equal(c.step, 17);
    assert_null(c.words); /* names of files are nobody else's business */
    safetensors_close(&s);
    assert_int_equal(checkpoint_open(&f, path, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "found weights without the optimizer's state"));
}

/* What was not written yet when a file was, is 0 for it. */
static void older_files_are_read(void **state) {
    static const char *const later[] = { "\"minutes\"", "\"run\"", "\"begun\"", "\"elapsed\"" };
    char path[SCRATCH_PATH];
    size_t n;
    Safetensors s;
    Checkpoint c;
    Error e = { 0 };
    Run r;
    run_at(&r, 5);
    checkpoint_run(&r.c, little_model(), r.weights);
    assert_int_equal(checkpoint_save(scratch_path(state, "old", path), little_model(), r.weights,
                                     r.train, NULL, &r.c, &e),
                     0);
    char *bytes = scratch_read(path, &n);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        char *at = memmem(bytes, n, later[i], strlen(later[i]));
        assert_non_null(at);
        at[1] = '_';
    }
    scratch_write(path, bytes, n);
    free(bytes);
    assert_int_equal(safetensors_open(&s, path, &e), 0);
    assert_true(checkpoint_about(&s, &c));
    assert_string_equal(c.run, "");
    assert_int_equal(c.step, 5);
    safetensors_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_alone),
        cmocka_unit_test(older_files_are_read),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
