/*
** Memory that is not there: each allocation of strata and of a model's program fails in turn, by
** itself or with all after it.  Every run must end in one of two ways: with one line about memory,
** exit status 3 and no file, or as if nothing had happened, down to the last byte (Lua, for one,
** collects its garbage and asks again).
**   ALLOCATIONS=all allocations_test     every one, where otherwise some of thousands do; LLVM's,
**                                        a million of them, stay a sample, ten times larger
*/
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program_run.h"
#include "safetensors.h"

enum { AT_ONCE = 2, SAID = 1 << 13, FILES = 8 };

static const char spec[] =
    "return model { name = 'm', vocab = 256, context = 8, dim = 8, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = require 'mine' {},\n"
    "  layers = times(1, layer { attention { heads = 2 },\n"
    "                            mlp { hidden = 16, activation = 'relu' } }),\n"
    "  train = { optimizer = adamw { lr = 1e-3 }, batch = 2 } }\n";

static const char mixer[] =
    "return mixer {\n"
    "  open = function(m, e) return { h = e } end,\n"
    "  read = function(m, state, site) return state.h end,\n"
    "  write = function(m, state, site, out) return { h = state.h + out } end,\n"
    "  close = function(m, state, site) return state.h end,\n"
    "}\n";

/* == One run ============================================================== */

/* What is run: a shell's words in a folder with these files, from the test's folder. */
typedef struct Command {
    const char *program, *words, *file[FILES];
    bool own; /* LLVM's and the C++ library's allocations do not count */
} Command;

typedef struct Outcome {
    Folder work, temp; /* the program's, and what it has for temporary files */
    pid_t process;
    int status, out, err;
    _Atomic uint64_t *count;
    char said[SAID];
} Outcome;

static Folder inputs;

static void copy(const Folder *from, const char *name, const Folder *to) {
    size_t length;
    char *bytes = folder_read(from, name, &length), path[300];
    assert_non_null(bytes);
    folder_write(to, name, bytes, length);
    free(bytes);
    snprintf(path, sizeof path, "%s/%s", to->path, name);
    assert_int_equal(chmod(path, 0755), 0);
}

static void set_number(const char *name, uint64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

static _Noreturn void become(const Outcome *o, const Command *c, int counts, uint64_t fail,
                             bool later) {
    char count[64];
    snprintf(count, sizeof count, "/proc/self/fd/%d", counts);
    if (chdir(o->work.path) || dup2(o->out, 1) < 0 || dup2(o->err, 2) < 0) _exit(126);
    setenv("TMPDIR", o->temp.path, 1);
    setenv("ALLOCATION_OF", c->program, 1);
    setenv("ALLOCATION_COUNT", count, 1);
    set_number("ALLOCATION_FAIL", fail);
    if (later) setenv("ALLOCATION_ALL", "1", 1);
    if (c->own) setenv("ALLOCATION_OWN", "1", 1);
    setenv("LD_PRELOAD", FAILING_MALLOC, 1);
    char text[256], *word[32];
    int n = 0;
    snprintf(text, sizeof text, "%s", c->words);
    for (char *rest = text; n < 31 && (word[n] = strsep(&rest, " "));)
        n++;
    word[n] = NULL;
    execv(word[0], word);
    _exit(126);
}

static void start(Outcome *o, const Command *c, uint64_t fail, bool later) {
    folder_open(&o->work);
    folder_open(&o->temp);
    for (int i = 0; i < FILES && c->file[i]; i++)
        copy(&inputs, c->file[i], &o->work);
    o->out = memfd_create("out", 0);
    o->err = memfd_create("err", 0);
    int counts = memfd_create("count", 0);
    assert_int_equal(ftruncate(counts, sizeof *o->count), 0);
    o->count = mmap(NULL, sizeof *o->count, PROT_READ, MAP_SHARED, counts, 0);
    assert_true(o->count != MAP_FAILED);
    fflush(NULL);
    o->process = fork();
    assert_true(o->process >= 0);
    if (!o->process) become(o, c, counts, fail, later);
    close(counts);
}

static void finish(Outcome *o) {
    o->status = program_wait(o->process);
    ssize_t n = pread(o->err, o->said, sizeof o->said - 1, 0);
    o->said[n > 0 ? n : 0] = 0;
}

static void forget(Outcome *o) {
    close(o->out);
    close(o->err);
    munmap(o->count, sizeof *o->count);
    folder_close(&o->work);
    folder_close(&o->temp);
}

/* == What it must have come to ============================================ */

static int entries(const Folder *f) {
    int n = 0;
    DIR *d = opendir(f->path);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static bool same_file(const Folder *a, const Folder *b, const char *name) {
    size_t n = 0, m = 0;
    char *x = folder_read(a, name, &n), *y = folder_read(b, name, &m);
    bool same = x && y && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

static bool same_files(const Folder *a, const Folder *b) {
    DIR *d = opendir(a->path);
    bool same = entries(a) == entries(b);
    for (struct dirent *e; (e = readdir(d));)
        if (*e->d_name != '.') same = same && same_file(a, b, e->d_name);
    closedir(d);
    return same;
}

/* One line about it, then at most the line of the spec. */
static bool says_memory(const char *said) {
    const char *end = strchr(said, '\n');
    if (!end || strncmp(said, "error: ", 7)) return false;
    const char *memory = strstr(said, "memory"), *threads = strstr(said, "cannot start ");
    if (!(memory && memory < end) && !(threads && threads < end)) return false;
    const char *more = end + 1, *last = strchr(more, '\n');
    return !*more || (*more == ' ' && strlen(more) < 200 && last && !last[1]);
}

static bool left_nothing(const Outcome *o, const Command *c) {
    int files = 0;
    bool same = true;
    for (; files < FILES && c->file[files]; files++)
        same = same && same_file(&inputs, &o->work, c->file[files]);
    return same && entries(&o->work) == files;
}

/* A run in which nothing of the kind happens. */
static void run_whole(Outcome *o, const Command *c) {
    start(o, c, 0, false);
    finish(o);
    if (o->status) print_error("%s: status %d: %s\n", c->words, o->status, o->said);
    assert_int_equal(o->status, 0);
}

static bool is_right(const Outcome *o, const Command *c, const Outcome *whole, uint64_t fail) {
    const char *wrong = entries(&o->temp) ? "left a temporary file" : NULL;
    if (o->status == 0) {
        if (strcmp(o->said, whole->said)) wrong = "succeeded with other words";
        if (!same_files(&o->work, &whole->work)) wrong = "succeeded with other files";
    } else {
        if (!left_nothing(o, c)) wrong = "left a file";
        if (!says_memory(o->said)) wrong = "said something else";
        if (o->status != 3) wrong = "ended otherwise";
    }
    if (wrong)
        print_error("%s: without allocation %llu of %llu: %s: status %d: %s\n", c->words,
                    (unsigned long long)fail, (unsigned long long)*whole->count, wrong, o->status,
                    o->said);
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
static void fail_each(const Command *c, const Points *p) {
    Outcome whole, run[AT_ONCE];
    uint64_t at[AT_ONCE], tried = 0, wrong = 0, refused = 0;
    run_whole(&whole, c);
    Points all = *p;
    if (!all.to) all.to = *whole.count;
    assert_true(all.from < all.to);
    for (uint64_t n = all.from; n <= all.to;) {
        int k = 0;
        for (; k < AT_ONCE && n <= all.to; k++, n = after(&all, n))
            start(&run[k], c, at[k] = n, (tried + (uint64_t)k) % 2);
        tried += (uint64_t)k;
        for (int i = 0; i < k; i++) {
            finish(&run[i]);
            wrong += !is_right(&run[i], c, &whole, at[i]);
            refused += run[i].status == 3;
            forget(&run[i]);
        }
    }
    print_message("%s: %llu of %llu allocations failed; %llu runs ended\n", c->words,
                  (unsigned long long)tried, (unsigned long long)*whole.count,
                  (unsigned long long)refused);
    forget(&whole);
    assert_true(refused > 0);
    assert_true(wrong == 0);
}

static uint64_t most(uint64_t few) {
    const char *all = getenv("ALLOCATIONS");
    return all && !strcmp(all, "all") ? UINT64_MAX : few;
}

static uint64_t count(const Command *c) {
    Outcome o;
    run_whole(&o, c);
    uint64_t n = *o.count;
    forget(&o);
    return n;
}

/* == The compiler ========================================================= */

#define STRATA BUILD_DIR "/strata"

static const Command check = {
    "strata", STRATA " check m.lua", { "m.lua", "mine.lua" }, .own = true
};

static void checking(void **state) {
    (void)state;
    fail_each(&check, &(Points){ 1, 0, most(300) });
}

/* Until it is compiled, building is checking, and so is looking at a graph. */
static void inspecting(void **state) {
    (void)state;
    const Command inspect = {
        "strata", STRATA " inspect --graph m.lua", { "m.lua", "mine.lua" }, .own = true
    };
    fail_each(&inspect, &(Points){ count(&check) - EDGE, 0, most(50) });
}

static void building_an_object(void **state) {
    (void)state;
    const Command build = {
        "strata", STRATA " build --emit obj m.lua", { "m.lua", "mine.lua" }, .own = true
    };
    fail_each(&build, &(Points){ count(&check) - EDGE, 0, most(100) });
}

static void building_a_program(void **state) {
    (void)state;
    const Command build = { "strata", STRATA " build m.lua", { "m.lua", "mine.lua" }, .own = true };
    uint64_t all = count(&build);
    fail_each(&build, &(Points){ all - EDGE, all, 1 });
}

static void llvm(void **state) {
    (void)state;
    const Command build = { "strata", STRATA " build --emit obj m.lua",
                            .file = { "m.lua", "mine.lua" } };
    fail_each(&build, &(Points){ count(&check), 0, most(30) == 30 ? 30 : 300 });
}

/* == A model's program ==================================================== */

static void asking(void **state) {
    (void)state;
    const Command info = { "m", "./m info", .file = { "m" } };
    fail_each(&info, &(Points){ 1, 0, UINT64_MAX });
}

static void training(void **state) {
    (void)state;
    const Command train = { "m", "./m train --data m --steps 2 --threads 2 --out w.safetensors",
                            .file = { "m" } };
    fail_each(&train, &(Points){ 1, 0, UINT64_MAX });
}

static void computing(void **state) {
    (void)state;
    const Command logits = {
        "m", "./m logits --weights m.safetensors --tokens tokens --threads 2 --out l.safetensors",
        .file = { "m", "m.safetensors", "tokens" }
    };
    fail_each(&logits, &(Points){ 1, 0, UINT64_MAX });
}

/* == Inputs =============================================================== */

static int prepare(void **state) {
    (void)state;
    static const char header[] =
        "{\"tokens\":{\"dtype\":\"I32\",\"shape\":[1,4],\"data_offsets\":[0,16]}}";
    char tokens[8 + sizeof header - 1 + 16] = { sizeof header - 1 };
    memcpy(tokens + 8, header, sizeof header - 1);
    folder_open(&inputs);
    folder_write(&inputs, "m.lua", spec, sizeof spec - 1);
    folder_write(&inputs, "mine.lua", mixer, sizeof mixer - 1);
    folder_write(&inputs, "tokens", tokens, sizeof tokens);
    folder_shell(&inputs, "strata build m.lua");
    folder_shell(&inputs, "./m train --data m --steps 1 --threads 1");
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
