/* SPDX-License-Identifier: MIT
** Power that goes away while checkpoints are saved: what training does to its folder is recorded,
** and of every moment, what a power cut may leave then is made and resumed from (power_cut.h).
** There is always a checkpoint, whole, that is not older than the last one that was flushed, and
** the run that goes on from it ends with the same bits as the one that nothing happened to.
**   POWER_CUTS=N power_test     so many folders, where otherwise 60 are made
**   FAULT_SEED=N                others
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "fault_run.h"
#include "power_cut.h"
#include "setting.h"

enum { STEPS = 4, FEW = 60 };

#define BEGINNING "./m train --data text --save-every 1 --threads 1 --log log --out w.safetensors"
#define SAVING BEGINNING " --steps 4"

static const char spec[] =
    "return model { name = 'm', vocab = 256, context = 8, dim = 8, tokenizer = 'bytes',\n"
    "  norm = rmsnorm {}, layers = times(1, layer { mlp { hidden = 8, activation = 'relu' } }),\n"
    "  train = { optimizer = adamw { lr = 1e-3 }, batch = 2 } }\n";

static Folder inputs; /* m, two checkpoints of an earlier run, and "end", the last of a whole one */

/* == One folder =========================================================== */

/* From what it has to the end; how the run that was recorded began does not matter. */
static const char *end_is_wrong(const Folder *f, bool resumes) {
    char words[500];
    size_t n = 0, m = 0;
    snprintf(words, sizeof words, "cd '%s' && '%s/m' %s%s >out 2>err", f->path, inputs.path,
             strchr(SAVING, ' ') + 1, resumes ? " --resume" : "");
    if (system(words)) {
        char *said = folder_read(f, "err", NULL);
        print_error("%s", said ? said : "");
        free(said);
        return resumes ? "cannot be resumed" : "cannot be begun again";
    }
    char *got = folder_read(f, "w.safetensors", &n), *want = folder_read(&inputs, "end", &m);
    bool same = got && want && n == m && !memcmp(got, want, n);
    free(got);
    free(want);
    return same ? NULL : "ends with other bits";
}

/* 'steps' are safe. */
static const char *folder_is_wrong(const Folder *f, int steps) {
    CheckpointFile c;
    Error e;
    char path[300];
    snprintf(path, sizeof path, "%s/w.safetensors", f->path);
    bool there = folder_has(f, "w.safetensors") || folder_has(f, "w.safetensors.prev");
    if (!there) return steps ? "has no checkpoint" : end_is_wrong(f, false);
    if (checkpoint_open(&c, path, &e)) return "has no checkpoint that is whole";
    int64_t step = c.state.step;
    checkpoint_close(&c);
    return step < steps ? "has an older checkpoint than was flushed" : end_is_wrong(f, true);
}

/* == One recorded run ===================================================== */

typedef struct Cuts {
    const char *name;
    uint64_t *seen;
    uint64_t made, wrong, most;
    int begun;  /* steps of the checkpoint that the run began with */
    bool quiet; /* what is wrong is meant to be */
    Random random;
} Cuts;

static bool is_new(Cuts *c, uint64_t hash) {
    for (uint64_t i = 0; i < c->made; i++)
        if (c->seen[i] == hash) return false;
    c->seen[c->made++] = hash;
    return true;
}

static void try_cut(Cuts *c, const PowerRecord *p, int moment, int keep) {
    Folder f;
    folder_open(&f);
    uint64_t hash = power_cut(p, moment, keep, &c->random, &f);
    if (is_new(c, hash)) {
        const char *wrong = folder_is_wrong(&f, c->begun + power_saves(p, moment));
        c->wrong += wrong != NULL;
        if (wrong && !c->quiet)
            print_error("%s: cut at %d of %d, keeping %d, number %llu: the folder %s\n", c->name,
                        moment - power_first(p), power_last(p) - power_first(p), keep,
                        (unsigned long long)c->made, wrong);
    }
    folder_close(&f);
}

/* Of moments all, nothing, and parts, round after round until there are enough. */
static void cut_all(Cuts *c, const PowerRecord *p) {
    int first = power_first(p), last = power_last(p), moments = last - first + 1;
    int every = 1 + moments * 4 / (int)(c->most + 1);
    for (int round = 0; round < 200 && c->made < c->most; round++)
        for (int at = first; at <= last && c->made < c->most; at++)
            if (!draw_below(&c->random, every)) try_cut(c, p, at, round < 2 ? 1 - round : 2);
}

static PowerRecord *recorded(const FaultCommand *command) {
    FaultOutcome o;
    char record[] = "/tmp/strata-record-XXXXXX", setting[64];
    int file = mkstemp(record);
    assert_true(file >= 0);
    snprintf(setting, sizeof setting, "RECORD=%s", record);
    fault_start(&o, command, 0, setting);
    fault_finish(&o);
    if (o.status) fail_msg("%s: status %d: %s", command->words, o.status, o.said);
    fault_forget(&o);
    PowerRecord *p = power_record_open(&inputs, record);
    close(file);
    unlink(record);
    return p;
}

static uint64_t wrong_of(const PowerRecord *p, const char *name, int begun, double share) {
    Cuts c = {
        .name = name, .begun = begun, .quiet = *name == '(', .random = { setting("FAULT_SEED", 1) }
    };
    c.most = (uint64_t)(share * (double)setting("POWER_CUTS", FEW));
    c.seen = calloc(c.most + 1, sizeof *c.seen);
    assert_non_null(c.seen);
    assert_int_equal(power_saves(p, power_last(p)), STEPS - begun);
    cut_all(&c, p);
    print_message("%s: %d moments, %llu folders, %llu wrong\n", name,
                  power_last(p) - power_first(p), (unsigned long long)c.made,
                  (unsigned long long)c.wrong);
    assert_true(c.made > 0);
    free(c.seen);
    return c.wrong;
}

static void check(const FaultCommand *command, const char *name, int begun, double share) {
    PowerRecord *p = recorded(command);
    assert_true(wrong_of(p, name, begun, share) == 0);
    power_record_close(p);
}

/* == Tests ================================================================ */

#define PLAIN \
    &inputs, RECORDED_CALLS, { NULL }
#define RENAMES &inputs, RECORDED_CALLS, { "RECORD_EXCHANGE=0" }

static void a_first_run(void **state) {
    (void)state;
    check(&(FaultCommand){ "m", SAVING, { "m", "text" }, PLAIN }, "from nothing", 0, 0.4);
}

static void a_run_that_goes_on(void **state) {
    (void)state;
    check(&(FaultCommand){ "m",
                           SAVING " --resume",
                           { "m", "text", "w.safetensors", "w.safetensors.prev", "log" },
                           PLAIN },
          "resumed", 2, 0.3);
}

static void without_exchanges(void **state) {
    (void)state;
    check(&(FaultCommand){ "m", SAVING, { "m", "text" }, RENAMES }, "two renames", 0, 0.3);
}

/* Were files not flushed before they get their names, some of these folders would be wrong. */
static void a_flush_that_is_missing_shows(void **state) {
    (void)state;
    PowerRecord *p = recorded(&(FaultCommand){ "m", SAVING, { "m", "text" }, PLAIN });
    power_forget_flushes(p);
    assert_true(wrong_of(p, "(without flushes)", 0, 0.4) > 0);
    power_record_close(p);
}

static int prepare(void **state) {
    (void)state;
    folder_open(&inputs);
    folder_write(&inputs, "m.lua", spec, sizeof spec - 1);
    folder_write(&inputs, "text", spec, sizeof spec - 1);
    folder_shell(&inputs, "strata build m.lua");
    folder_shell(&inputs, "%s", SAVING);
    folder_shell(&inputs, "mv w.safetensors end");
    folder_shell(&inputs, "rm w.safetensors.prev log");
    folder_shell(&inputs, "%s --steps 2", BEGINNING);
    return 0;
}

static int clean(void **state) {
    (void)state;
    folder_close(&inputs);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_run),
        cmocka_unit_test(a_run_that_goes_on),
        cmocka_unit_test(without_exchanges),
        cmocka_unit_test(a_flush_that_is_missing_shows),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
