/* SPDX-License-Identifier: MIT
** Checkpoints: round trip to the bit, equal states are equal files, rotation, damage,
** refusals, and processes killed while they save.
*/
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "little_model.h"
#include "scratch.h"
#include "weights.h"

typedef struct Run {
    float weights[LITTLE_PARAMETERS], train[3 * LITTLE_PARAMETERS];
    Checkpoint c;
} Run;

/* The state after 'step' steps of a run that is a function of the step. */
static void run_at(Run *r, int64_t step) {
    const strata_model *m = little_model();
    memset(r, 0, sizeof *r);
    weights_init(m, (uint64_t)step, r->weights);
    for (int i = 0; i < 3 * LITTLE_PARAMETERS; i++)
        r->train[i] = (float)(step * 1000 + i) / 7;
    checkpoint_defaults(&r->c, m);
    memset(r->c.data_sha256, 'a', 64);
    r->c.steps = 1000;
    r->c.step = step;
    r->c.position = step * 8;
    r->c.has_best = step > 1;
    r->c.best_val_loss = 1.0 / 3;
    r->c.best_step = step - 1;
}

static int save(const char *path, int64_t step, Error *e) {
    Run r;
    run_at(&r, step);
    return checkpoint_save(path, little_model(), r.weights, r.train, NULL, &r.c, e);
}

/* The step that a resumed run would continue from; everything read must be that step's. */
static int64_t resumed(const char *path, bool *previous) {
    CheckpointFile f;
    Error e = { 0 };
    Run r, back = { 0 };
    if (checkpoint_open(&f, path, &e)) fail_msg("%s", e.text);
    if (checkpoint_read(&f, little_model(), back.weights, back.train, &e)) fail_msg("%s", e.text);
    run_at(&r, f.state.step);
    assert_memory_equal(r.weights, back.weights, sizeof r.weights);
    assert_memory_equal(r.train + LITTLE_PARAMETERS, back.train + LITTLE_PARAMETERS,
                        2 * LITTLE_PARAMETERS * sizeof(float));
    assert_int_equal(checkpoint_match(&f, &r.c, &e), 0);
    assert_int_equal(f.state.position, r.c.position);
    assert_int_equal(f.state.has_best, r.c.has_best);
    assert_true(f.state.best_val_loss == r.c.best_val_loss);
    if (previous) *previous = f.previous;
    assert_int_equal(!f.previous, !f.note[0]);
    checkpoint_close(&f);
    return r.c.step;
}

static void states_round_trip(void **state) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    scratch_empty(state);
    assert_int_equal(save(scratch_path(state, "c", path), 17, &e), 0);
    assert_int_equal(resumed(path, NULL), 17);
    float w[LITTLE_PARAMETERS];
    Run r;
    run_at(&r, 17);
    /* a checkpoint is a weights file */
    assert_int_equal(weights_load(little_model(), path, w, &e), 0);
    assert_memory_equal(w, r.weights, sizeof w);
    assert_int_equal(scratch_entries(state), 1);
}

static void equal_states_are_equal_files(void **state) {
    char a[SCRATCH_PATH], b[SCRATCH_PATH];
    size_t n, m;
    assert_int_equal(save(scratch_path(state, "a", a), 5, NULL), 0);
    assert_int_equal(save(scratch_path(state, "b", b), 5, NULL), 0);
    char *x = scratch_read(a, &n), *y = scratch_read(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(y);
    assert_int_equal(save(b, 6, NULL), 0);
    y = scratch_read(b, &m);
    assert_int_equal(n, m);
    assert_memory_not_equal(x, y, n);
    free(x);
    free(y);
}

static void the_tokenizer_travels_with_the_checkpoint(void **state) {
    char path[SCRATCH_PATH];
    Error e = { 0 };
    Run r;
    Tokenizer t, back;
    CheckpointFile f;
    run_at(&r, 1);
    assert_int_equal(tokenizer_learn(&t, &tokenizer_chars, 6, "abba", 4, &e), 0);
    assert_int_equal(checkpoint_save(scratch_path(state, "t", path), little_model(), r.weights,
                                     r.train, &t, &r.c, &e),
                     0);
    assert_int_equal(checkpoint_open(&f, path, &e), 0);
    assert_int_equal(tokenizer_load(&back, &tokenizer_chars, 6, &f.file, &e), 0);
    assert_int_equal(back.ids, 6);
    checkpoint_close(&f);
    tokenizer_free(&t);
    tokenizer_free(&back);
}

static void two_generations_are_kept(void **state) {
    char path[SCRATCH_PATH], before[SCRATCH_PATH];
    scratch_empty(state);
    scratch_path(state, "c", path);
    scratch_path(state, "c.prev", before);
    for (int64_t step = 1; step <= 4; step++) {
        assert_int_equal(save(path, step, NULL), 0);
        assert_int_equal(resumed(path, NULL), step);
        if (step > 1) assert_int_equal(resumed(before, NULL), step - 1);
        assert_int_equal(scratch_entries(state), step > 1 ? 2 : 1);
    }
}

/* From here on this process is on a file system that cannot exchange two names. */
static void forbid_exchange(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RENAME_EXCHANGE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(77);
    if (!renameat2(-1, "", -1, "", RENAME_EXCHANGE) || errno != EINVAL) _exit(77);
}

static void two_generations_without_exchange(void **state) {
    char path[SCRATCH_PATH], before[SCRATCH_PATH];
    scratch_empty(state);
    scratch_path(state, "c", path);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        forbid_exchange();
        _exit(save(path, 1, NULL) || save(path, 2, NULL) || save(path, 3, NULL));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
    assert_int_equal(status, 0);
    assert_int_equal(resumed(path, NULL), 3);
    assert_int_equal(resumed(scratch_path(state, "c.prev", before), NULL), 2);
    assert_int_equal(scratch_entries(state), 2);
}

/* Every single damaged byte of the newest: the one before is taken, and why is said. */
static void damage_falls_back_to_the_one_before(void **state) {
    char path[SCRATCH_PATH];
    size_t n;
    bool previous;
    scratch_empty(state);
    scratch_path(state, "c", path);
    assert_int_equal(save(path, 1, NULL), 0);
    assert_int_equal(save(path, 2, NULL), 0);
    char *bytes = scratch_read(path, &n);
    for (size_t i = 0; i < n; i += i < 128 ? 1 : 61) {
        bytes[i] ^= 0x20;
        scratch_write(path, bytes, n);
        bytes[i] ^= 0x20;
        assert_int_equal(resumed(path, &previous), 1);
        assert_true(previous);
    }
    for (size_t cut = 0; cut < n; cut += 97) {
        scratch_write(path, bytes, cut);
        assert_int_equal(resumed(path, &previous), 1);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(resumed(path, &previous), 1);
    scratch_write(path, bytes, n);
    assert_int_equal(resumed(path, &previous), 2);
    assert_false(previous);
    free(bytes);
}

static void refuses(const char *path, int status, const char *says) {
    CheckpointFile f;
    Error e = { 0 };
    int found = checkpoint_open(&f, path, &e);
    if (found != status || !strstr(e.text, says))
        fail_msg("expected %d, \"%s\"\n  found %d, \"%s\"", status, says, found, e.text);
}

static void what_is_no_checkpoint_is_refused(void **state) {
    char path[SCRATCH_PATH], before[SCRATCH_PATH];
    TensorList l = { 0 };
    scratch_empty(state);
    scratch_path(state, "c", path);
    refuses(path, STATUS_USER, "cannot open");
    assert_int_equal(safetensors_write(path, &l, NULL, 0, 0, NULL), 0);
    refuses(path, STATUS_USER, "expected a checkpoint");
    scratch_write(scratch_path(state, "c.prev", before), "nothing", 7);
    refuses(path, STATUS_USER, "c.prev"); /* both are told */
    const Pair later[] = { { "format", "strata checkpoint" }, { "version", "2" } };
    assert_int_equal(save(path, 1, NULL), 0);
    assert_int_equal(
        safetensors_write(path, &l, later, 2, SAFETENSORS_CHECKSUM | SAFETENSORS_PREVIOUS, NULL),
        0);
    refuses(path, STATUS_USER, "expected a checkpoint of version 1, found version 2");
    const Pair poor[] = { { "format", "strata checkpoint" }, { "version", "1" }, { "spec", "x" } };
    assert_int_equal(safetensors_write(path, &l, poor, 3, SAFETENSORS_CHECKSUM, NULL), 0);
    refuses(path, STATUS_USER, "metadata spec_hash, found none");
}

static void targets_that_are_no_files_are_refused(void **state) {
    char path[SCRATCH_PATH], before[SCRATCH_PATH];
    Error e = { 0 };
    scratch_empty(state);
    scratch_path(state, "c", path);
    assert_int_equal(save(path, 1, NULL), 0);
    assert_int_equal(mkdir(scratch_path(state, "c.prev", before), 0700), 0);
    assert_int_equal(output_check(path, true, &e), STATUS_USER);
    assert_int_equal(save(path, 2, &e), STATUS_USER);
    assert_non_null(
        strstr(e.text, "c.prev: expected a regular file or a new name, found a folder"));
    assert_int_equal(resumed(path, NULL), 1);
    assert_int_equal(scratch_entries(state), 2);
}

/* == Another run ========================================================== */

static void other_lr(Checkpoint *c) { c->lr = 1e-3; }
static void other_spec(Checkpoint *c) { c->spec_hash++; }
static void other_precision(Checkpoint *c) { strcpy(c->precision, "bf16"); }
static void other_data(Checkpoint *c) { c->data_sha256[0] = 'b'; }
static void other_batch(Checkpoint *c) { c->batch = 8; }
static void other_accumulate(Checkpoint *c) { c->accumulate = 2; }
static void other_order(Checkpoint *c) { strcpy(c->order, "shuffled"); }
static void other_seed(Checkpoint *c) { c->data_seed++; }
static void other_share(Checkpoint *c) { c->val_share = 0.1; }

static void another_run_is_refused_by_name(void **state) {
    static const struct {
        void (*change)(Checkpoint *);
        const char *says;
    } row[] = {
        { other_lr, "expected lr 0.001, found 0.0003" },
        { other_spec, "expected spec_hash 18364758544493064721, found 18364758544493064720" },
        { other_precision, "expected precision bf16, found f32" },
        { other_data, "expected data_sha256 ba" },
        { other_batch, "expected batch 8, found 2" },
        { other_accumulate, "expected accumulate 2, found 1" },
        { other_order, "expected order shuffled, found random" },
        { other_seed, "expected data_seed 8, found 7" },
        { other_share, "expected val_share 0.1, found 0" },
    };
    char path[SCRATCH_PATH];
    CheckpointFile f;
    Error e = { 0 };
    Run r;
    assert_int_equal(save(scratch_path(state, "m", path), 3, NULL), 0);
    assert_int_equal(checkpoint_open(&f, path, &e), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run_at(&r, 3);
        row[i].change(&r.c);
        assert_int_equal(checkpoint_match(&f, &r.c, &e), STATUS_USER);
        if (!strstr(e.text, row[i].says) || strchr(e.text, '\n'))
            fail_msg("expected \"%s\", found \"%s\"", row[i].says, e.text);
    }
    run_at(&r, 3);
    other_batch(&r.c);
    other_data(&r.c);
    assert_int_equal(checkpoint_match(&f, &r.c, &e), STATUS_USER);
    assert_non_null(strstr(e.text, "\n  expected batch 8, found 2"));
    checkpoint_close(&f);
}

/* Two runs have one name if all their states are the same, however long they are. */
static void runs_have_names(void **state) {
    (void)state;
    static void (*const change[])(Checkpoint *) = { other_lr,    other_spec,  other_precision,
                                                    other_data,  other_batch, other_accumulate,
                                                    other_order, other_seed,  other_share };
    const strata_model *m = little_model();
    Run r, x;
    run_at(&r, 3);
    checkpoint_run(&r.c, m, r.weights);
    assert_int_equal(strlen(r.c.run), 16);
    run_at(&x, 3);
    x.c.steps = 2000, x.c.minutes = 2, x.c.step = 7, x.c.elapsed = 1;
    checkpoint_run(&x.c, m, x.weights);
    assert_string_equal(x.c.run, r.c.run);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        run_at(&x, 3);
        change[i](&x.c);
        checkpoint_run(&x.c, m, x.weights);
        assert_string_not_equal(x.c.run, r.c.run);
    }
    run_at(&x, 3);
    x.weights[1] += 1; /* --init */
    checkpoint_run(&x.c, m, x.weights);
    assert_string_not_equal(x.c.run, r.c.run);
}

/* == Killed =============================================================== */

static void keep_saving(const char *path, int64_t from) {
    for (int64_t step = from;; step++)
        if (save(path, step, NULL)) _exit(1);
}

/* At any moment: what is resumed is whole, not older than what was resumed before, and
** nothing but the two generations and at most one temporary file lies there. */
static void killed_at_any_moment(void **state) {
    char path[SCRATCH_PATH];
    int64_t step = 1;
    scratch_empty(state);
    scratch_path(state, "c", path);
    assert_int_equal(save(path, step, NULL), 0);
    for (int kill_number = 0; kill_number < 30; kill_number++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) keep_saving(path, step + 1);
        struct timespec pause = { 0, 1000000 + 977777L * kill_number };
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        int64_t now = resumed(path, NULL);
        assert_true(now >= step);
        step = now;
        assert_true(scratch_entries(state) <= 3);
    }
    assert_int_equal(save(path, step + 1, NULL), 0);
    assert_int_equal(scratch_entries(state), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_round_trip),
        cmocka_unit_test(equal_states_are_equal_files),
        cmocka_unit_test(the_tokenizer_travels_with_the_checkpoint),
        cmocka_unit_test(two_generations_are_kept),
        cmocka_unit_test(two_generations_without_exchange),
        cmocka_unit_test(damage_falls_back_to_the_one_before),
        cmocka_unit_test(what_is_no_checkpoint_is_refused),
        cmocka_unit_test(targets_that_are_no_files_are_refused),
        cmocka_unit_test(another_run_is_refused_by_name),
        cmocka_unit_test(runs_have_names),
        cmocka_unit_test(killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
