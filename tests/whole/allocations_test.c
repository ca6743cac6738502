/* SPDX-License-Identifier: MIT
** Memory that is not there: each allocation of strata and of a model's program fails in turn, by
** itself or with all after it.  Every run must end in one of two ways: with one line about memory,
** exit status 3 and no file, or as if nothing had happened, down to the last byte (Lua, for one,
** collects its garbage and asks again).
**   ALLOCATIONS=all allocations_test     every one, where otherwise some of thousands do; LLVM's,
**                                        a million of them, stay a sample, ten times larger
*/
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_run.h"

enum { AT_ONCE = 2 };

static const char spec[] =
    "return model { name = 'm', vocab = 256, context = 8, dim = 8, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = require 'mine' {},\n"
    "  layers = times(1, layer { attention { heads = 2 },\n"
    "                            mlp { hidden = 16, activation = 'relu' } }),\n"
    "  train = { optimizer = adamw { lr = 1e-3 }, batch = 2 } }\n";

static Folder inputs;

/* == What it must have come to ============================================ */

/* One line about it, then at most the line of the spec. */
static bool says_memory(const char *said) {
    if (!fault_says_one_line(said)) return false;
    const char *end = strchr(said, '\n');
    const char *memory = strstr(said, "memory"), *threads = strstr(said, "cannot start ");
    return ((memory && memory < end) || (threads && threads < end)) && strlen(end + 1) < 200;
}

static bool left_nothing(const FaultOutcome *o, const FaultCommand *c) {
    int files = 0;
    bool same = true;
    for (; files < FAULT_FILES && c->file[files]; files++)
        same = same && folders_share(&inputs, &o->work, c->file[files]);
    return same && folder_entries(&o->work) == files;
}

static bool is_right(const FaultOutcome *o, const FaultCommand *c, const FaultOutcome *whole,
                     uint64_t fail) {
    const char *wrong = folder_entries(&o->temp) ? "left a temporary file" : NULL;
    if (o->status == 0) {
        if (strcmp(o->said, whole->said)) wrong = "succeeded with other words";
        if (!folders_same(&o->work, &whole->work)) wrong = "succeeded with other files";
    } else {
        if (!left_nothing(o, c)) wrong = "left a file";
        if (!says_memory(o->said)) wrong = "said something else";
        if (o->status != 3) wrong = "ended otherwise";
    }
    if (wrong)
        print_error("%s: without allocation %llu of %llu: %s: status %d: %s\n", c->words,
                    (unsigned long long)fail, (unsigned long long)whole->count->count, wrong,
                    o->status, o->said);
    return !wrong;
}

/* == Which ones =========================================================== */

/* The first and the last few of from .. to, and between them as many as make 'most'. */
typedef struct Points {
    uint64_t from, to, most;
} Points;

enum { EDGE = 12 };

static uint64_t after(const Points *p, uint64_t n) {
    uint64_t step = (p->to - p->from) / p->most + 1;
    bool edge = n < p->from + EDGE || n + EDGE >= p->to;
    uint64_t next = edge ? n + 1 : n + step;
    return !edge && next + EDGE > p->to ? p->to - EDGE : next;
}

/* Fails them, two at once; alternately alone and with all that come later. */
static void fail_each(const FaultCommand *c, const Points *p) {
    FaultOutcome whole, run[AT_ONCE];
    uint64_t at[AT_ONCE], tried = 0, wrong = 0, refused = 0;
    fault_run_whole(&whole, c);
    Points all = *p;
    if (!all.to) all.to = whole.count->count;
    assert_true(all.from < all.to);
    for (uint64_t n = all.from; n <= all.to;) {
        int k = 0;
        for (; k < AT_ONCE && n <= all.to; k++, n = after(&all, n))
            fault_start(&run[k], c, at[k] = n,
                        (tried + (uint64_t)k) % 2 ? "ALLOCATION_ALL=1" : NULL);
        tried += (uint64_t)k;
        for (int i = 0; i < k; i++) {
            fault_finish(&run[i]);
            wrong += !is_right(&run[i], c, &whole, at[i]);
            refused += run[i].status == 3;
            fault_forget(&run[i]);
        }
    }
    print_message("%s: %llu of %llu allocations failed; %llu runs ended\n", c->words,
                  (unsigned long long)tried, (unsigned long long)whole.count->count,
                  (unsigned long long)refused);
    fault_forget(&whole);
    assert_true(refused > 0);
    assert_true(wrong == 0);
}

static uint64_t most(uint64_t few) {
    const char *all = getenv("ALLOCATIONS");
    return all && !strcmp(all, "all") ? UINT64_MAX : few;
}

static uint64_t count(const FaultCommand *c) {
    FaultOutcome o;
    fault_run_whole(&o, c);
    uint64_t n = o.count->count;
    fault_forget(&o);
    return n;
}

/* == The compiler ========================================================= */

#define STRATA BUILD_DIR "/strata"
#define INPUTS \
    &inputs, FAILING_MALLOC, { NULL }
#define OWN &inputs, FAILING_MALLOC, { "ALLOCATION_OWN=1" }

static const FaultCommand check = { "strata", STRATA " check m.lua", { "m.lua", "mine.lua" }, OWN };

static void checking(void **state) {
    (void)state;
    fail_each(&check, &(Points){ 1, 0, most(300) });
}

/* Until it is compiled, building is checking, and so is looking at a graph. */
static void inspecting(void **state) {
    (void)state;
    const FaultCommand inspect = {
        "strata", STRATA " inspect --graph m.lua", { "m.lua", "mine.lua" }, OWN
    };
    fail_each(&inspect, &(Points){ count(&check) - EDGE, 0, most(50) });
}

static void building_an_object(void **state) {
    (void)state;
    const FaultCommand build = {
        "strata", STRATA " build --emit obj m.lua", { "m.lua", "mine.lua" }, OWN
    };
    fail_each(&build, &(Points){ count(&check) - EDGE, 0, most(100) });
}

static void building_a_program(void **state) {
    (void)state;
    const FaultCommand build = { "strata", STRATA " build m.lua", { "m.lua", "mine.lua" }, OWN };
    uint64_t all = count(&build);
    fail_each(&build, &(Points){ all - EDGE, all, 1 });
}

static void llvm(void **state) {
    (void)state;
    const FaultCommand build = {
        "strata", STRATA " build --emit obj m.lua", { "m.lua", "mine.lua" }, INPUTS
    };
    fail_each(&build, &(Points){ count(&check), 0, most(30) == 30 ? 30 : 300 });
}

/* == A model's program ==================================================== */

static void asking(void **state) {
    (void)state;
    const FaultCommand info = { "m", "./m info", { "m" }, INPUTS };
    fail_each(&info, &(Points){ 1, 0, UINT64_MAX });
}

static void training(void **state) {
    (void)state;
    const FaultCommand train = { "m",
                                 "./m train --data text --steps 2 --threads 2 --out w.safetensors",
                                 { "m", "text" },
                                 INPUTS };
    fail_each(&train, &(Points){ 1, 0, UINT64_MAX });
}

static void computing(void **state) {
    (void)state;
    const FaultCommand logits = {
        "m",
        "./m logits --weights m.safetensors --tokens tokens --threads 2 --out l.safetensors",
        { "m", "m.safetensors", "tokens" },
        INPUTS
    };
    fail_each(&logits, &(Points){ 1, 0, UINT64_MAX });
}

/* == Inputs =============================================================== */

static int prepare(void **state) {
    (void)state;
    fault_inputs(&inputs, spec);
    folder_shell(&inputs, "./m train --data text --steps 1 --threads 1");
    return 0;
}

static int clean(void **state) {
    (void)state;
    folder_close(&inputs);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asking),
        cmocka_unit_test(training),
        cmocka_unit_test(computing),
        cmocka_unit_test(checking),
        cmocka_unit_test(inspecting),
        cmocka_unit_test(building_an_object),
        cmocka_unit_test(building_a_program),
        cmocka_unit_test(llvm),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
