/* SPDX-License-Identifier: MIT
** Calls of the system that fail: each one that strata and a model's program make fails in turn, by
** itself or with all later ones of its name, with one of three errors.  Every run must end in one
** of two ways: with one line and exit status 4 (3 where it is memory, 1 where it is not
** permitted), or as if nothing had happened.  In both, what it was given is there as it was, every
** other file is whole, and none is there that a run in which nothing fails does not leave.
**   FAULTS=N faults_test     so many faults, where otherwise 200 are tried
**   FAULT_SEED=N             others
*/
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_run.h"
#include "numeric.h"
#include "safetensors.h"
#include "setting.h"

enum { KINDS = 6, AT_ONCE = 2, FEW = 200 };

static const char spec[] =
    "return model { name = 'm', vocab = 256, context = 8, dim = 8, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = require 'mine' {},\n"
    "  layers = times(1, layer { mlp { hidden = 16, activation = 'relu' } }),\n"
    "  train = { optimizer = adamw { lr = 1e-3 }, batch = 2 } }\n";

static Folder inputs;

/* == What it must have come to ============================================ */

/* What a file is removed by, or what says whose it is: one may stay. */
static bool removes(const char *call) {
    return strstr(call, "unlink") || strstr(call, "rename") || strstr(call, "fstat")
        || !strcmp(call, "rmdir");
}

static bool is_right_status(const FaultOutcome *o) {
    bool denied = strstr(o->said, "Permission denied") || strstr(o->said, "Operation not permitted")
        || strstr(o->said, "Read-only");
    return o->status == 4 || o->status == 3 || (o->status == 1 && denied);
}

/* The contents are those of a file of the folder, whatever its name. */
static bool is_one_of(const char *bytes, size_t length, const Folder *f) {
    DIR *d = opendir(f->path);
    bool found = false;
    assert_non_null(d);
    for (struct dirent *e; !found && (e = readdir(d));) {
        size_t n = 0;
        char *other = *e->d_name == '.' ? NULL : folder_read(f, e->d_name, &n);
        found = other && n == length && !memcmp(bytes, other, n);
        free(other);
    }
    closedir(d);
    return found;
}

/* A checkpoint, of whatever step, whose checksum is right. */
static bool is_checkpoint(const Folder *f, const char *name) {
    Safetensors s;
    Error e;
    bool found = false;
    char path[512];
    int n = snprintf(path, sizeof path, "%s/%s", f->path, name);
    if (n >= (int)sizeof path || safetensors_open(&s, path, &e)) return false;
    bool good = !safetensors_verify(&s, &found, &e) && found;
    safetensors_close(&s);
    return good;
}

/* NULL: a name that a whole run leaves, or is given, with contents of one of them.  A file that
** could not be removed may have the name of a temporary one. */
static const char *file_is_wrong(const FaultOutcome *o, const FaultOutcome *whole,
                                 const char *name) {
    size_t n;
    char *bytes = folder_read(&o->work, name, &n);
    bool known = folder_has(&whole->work, name),
         left = strstr(name, ".strata-tmp") && removes(o->count->what);
    const char *wrong = !known && !left ? "left a file" : NULL;
    if (!left && !is_one_of(bytes, n, &inputs) && !is_one_of(bytes, n, &whole->work)
        && !is_checkpoint(&o->work, name))
        wrong = "left a file that is not whole";
    free(bytes);
    return wrong;
}

static const char *files_are_wrong(const FaultOutcome *o, const FaultCommand *c,
                                   const FaultOutcome *whole) {
    const char *wrong = NULL;
    DIR *d = opendir(o->work.path);
    assert_non_null(d);
    for (struct dirent *e; !wrong && (e = readdir(d));)
        if (*e->d_name != '.') wrong = file_is_wrong(o, whole, e->d_name);
    closedir(d);
    for (int i = 0; i < FAULT_FILES && c->file[i]; i++)
        if (!folder_has(&o->work, c->file[i])) wrong = "lost a file";
    if (folder_entries(&o->temp) && !removes(o->count->what)) wrong = "left a temporary file";
    return wrong;
}

/* What the linker said of that follows in lines of its own. */
static bool says_that_linker_opens_no_more(const char *said) {
    return !strncmp(said, "error: cc: expected it to link the model, found exit status", 59)
        && strstr(said, strerror(EMFILE));
}

static bool is_right(const FaultOutcome *o, const FaultCommand *c, const FaultOutcome *whole,
                     uint64_t at, int kind) {
    const char *wrong = files_are_wrong(o, c, whole);
    if (o->status == 0) {
        if (strcmp(o->said, whole->said)) wrong = "succeeded with other words";
        if (!wrong && !removes(o->count->what) && !folders_same(&o->work, &whole->work))
            wrong = "succeeded with other files";
    } else {
        if (!fault_says_one_line(o->said) && !says_that_linker_opens_no_more(o->said))
            wrong = "said something else";
        if (!is_right_status(o)) wrong = "ended otherwise";
    }
    if (wrong)
        print_error("%s: call %llu, %s, error %d: %s: status %d: %s\n", c->words,
                    (unsigned long long)at, o->count->what, kind, wrong, o->status, o->said);
    return !wrong;
}

/* == Which ones =========================================================== */

/* A share of the faults of all commands: first every call by itself with its first error, then, as
** many as are wanted, in every way. */
static void fail_each(const FaultCommand *c, double share) {
    static const char *const how[KINDS] = { "CALL_ERROR=0", "CALL_ERROR=1", "CALL_ERROR=2",
                                            "CALL_ERROR=3", "CALL_ERROR=4", "CALL_ERROR=5" };
    uint64_t faults = (uint64_t)(share * (double)setting("FAULTS", FEW)), wrong = 0, refused = 0;
    Random random = { setting("FAULT_SEED", 1) };
    FaultOutcome whole, run[AT_ONCE];
    fault_run_whole(&whole, c);
    uint64_t calls = whole.count->count;
    for (uint64_t n = 0; n < faults; n += AT_ONCE) {
        uint64_t at[AT_ONCE];
        int kind[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            bool first = n + (uint64_t)k < calls && faults >= calls;
            at[k] = first ? n + (uint64_t)k + 1 : 1 + (uint64_t)draw_below(&random, (int)calls);
            kind[k] = first ? 0 : draw_below(&random, KINDS);
            fault_start(&run[k], c, at[k], how[kind[k]]);
        }
        for (int k = 0; k < AT_ONCE; k++) {
            fault_finish(&run[k]);
            wrong += !is_right(&run[k], c, &whole, at[k], kind[k]);
            refused += run[k].status != 0;
            fault_forget(&run[k]);
        }
    }
    print_message("%s: %llu faults in %llu calls; %llu runs ended\n", c->words,
                  (unsigned long long)faults, (unsigned long long)calls,
                  (unsigned long long)refused);
    fault_forget(&whole);
    assert_true(refused > 0);
    assert_true(wrong == 0);
}

/* == Commands ============================================================= */

#define STRATA BUILD_DIR "/strata"
#define SPEC { "m.lua", "mine.lua" }
#define INPUTS \
    &inputs, FAILING_CALLS, { NULL }

static void the_compiler(void **state) {
    (void)state;
    static const FaultCommand command[] = {
        { "strata", STRATA " check m.lua", SPEC, INPUTS },
        { "strata", STRATA " inspect m.lua", SPEC, INPUTS },
        { "strata", STRATA " build m.lua", { "m.lua", "mine.lua", "m" }, INPUTS },
        { "strata", STRATA " build --emit obj m.lua", SPEC, INPUTS },
    };
    fail_each(&command[0], 0.12);
    fail_each(&command[1], 0.12);
    fail_each(&command[2], 0.05);
    fail_each(&command[3], 0.03);
}

/* With a cache that has all its row kernels. */
static void the_compiler_again(void **state) {
    (void)state;
    Folder cache;
    char setting[300];
    folder_open(&cache);
    snprintf(setting, sizeof setting, "XDG_CACHE_HOME=%s", cache.path);
    const FaultCommand build = { "strata", STRATA " build m.lua", SPEC,
                                 &inputs,  FAILING_CALLS,         { setting } };
    FaultOutcome cold;
    fault_run_whole(&cold, &build);
    fault_forget(&cold);
    fail_each(&build, 0.1);
    folder_shell(&cache, "rm -rf strata");
    folder_close(&cache);
}

/* From nothing, over another's file, and further. */
static void training(void **state) {
    (void)state;
#define TRAIN "./m train --data text --steps 3 --save-every 1 --threads 2 --out w.safetensors"
    static const FaultCommand command[] = {
        { "m", TRAIN, { "m", "text" }, INPUTS },
        { "m", TRAIN " --overwrite", { "m", "text", "w.safetensors" }, INPUTS },
        { "m", TRAIN " --resume", { "m", "text", "w.safetensors" }, INPUTS },
    };
    fail_each(&command[0], 0.16);
    fail_each(&command[1], 0.16);
    fail_each(&command[2], 0.14);
}

static void computing(void **state) {
    (void)state;
    static const FaultCommand command[] = {
        { "m",
          "./m logits --weights w.safetensors --tokens tokens --threads 2 --overwrite "
          "--out l.safetensors",
          { "m", "w.safetensors", "tokens", "l.safetensors" },
          INPUTS },
        { "m",
          "./m eval --weights w.safetensors --data text --length 4",
          { "m", "w.safetensors", "text" },
          INPUTS },
        { "m", "./m info", { "m" }, INPUTS },
    };
    fail_each(&command[0], 0.12);
    fail_each(&command[1], 0.08);
    fail_each(&command[2], 0.02);
}

/* With one descriptor more each time, until there are enough. */
static void few_descriptors(void **state) {
    (void)state;
    static const FaultCommand command[] = {
        { "strata", STRATA " build --emit obj m.lua", SPEC, INPUTS },
        { "m", TRAIN " --overwrite", { "m", "text", "w.safetensors" }, INPUTS },
        { "m",
          "./m logits --weights w.safetensors --tokens tokens --threads 2 --overwrite --out "
          "l.safetensors",
          { "m", "w.safetensors", "tokens", "l.safetensors" },
          INPUTS },
    };
    for (size_t i = 0; i < sizeof command / sizeof *command; i++) {
        FaultOutcome whole, o;
        int refused = 0, most = 3, status = 1;
        fault_run_whole(&whole, &command[i]);
        for (; status && most < 40; most++) {
            char setting[32];
            snprintf(setting, sizeof setting, "FAULT_FILES=%d", most);
            fault_start(&o, &command[i], 0, setting);
            fault_finish(&o);
            status = o.status;
            refused += status != 0;
            assert_true(is_right(&o, &command[i], &whole, (uint64_t)most, -1));
            fault_forget(&o);
        }
        print_message("%s: %d descriptors are enough\n", command[i].words, most - 1);
        fault_forget(&whole);
        assert_true(refused > 0 && !status);
    }
}

/* Training goes on where it cannot tell, and says so in the end. */
static void full_output(void **state) {
    (void)state;
    static const char script[] = "exec " TRAIN " --overwrite >/dev/full\n";
    folder_write(&inputs, "t.sh", script, sizeof script - 1);
    const FaultCommand train = {
        "m", TRAIN " --overwrite", { "m", "text", "w.safetensors", "t.sh" }, INPUTS
    };
    FaultCommand unheard = train;
    unheard.words = "/bin/sh t.sh";
    FaultOutcome whole, o;
    fault_run_whole(&whole, &train);
    fault_start(&o, &unheard, 0, NULL);
    fault_finish(&o);
    assert_int_equal(o.status, 4);
    assert_true(fault_says_one_line(o.said));
    assert_non_null(strstr(o.said, "the run is done and w.safetensors is written"));
    assert_true(folders_same(&o.work, &whole.work));
    fault_forget(&o);
    fault_forget(&whole);
}

/* == Inputs =============================================================== */

static int prepare(void **state) {
    (void)state;
    fault_inputs(&inputs, spec);
    folder_shell(&inputs, "cp tokens l.safetensors");
    folder_shell(&inputs, "./m train --data text --steps 3 --save-every 1 --out w.safetensors");
    folder_shell(&inputs, "mv w.safetensors.prev w.safetensors"); /* two steps of three */
    return 0;
}

static int clean(void **state) {
    (void)state;
    folder_close(&inputs);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_compiler),    cmocka_unit_test(the_compiler_again),
        cmocka_unit_test(training),        cmocka_unit_test(computing),
        cmocka_unit_test(few_descriptors), cmocka_unit_test(full_output),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
