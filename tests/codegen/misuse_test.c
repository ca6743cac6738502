/* SPDX-License-Identifier: MIT
** Every function of an object with every argument damaged, one and two at a time: what comes back
** is a status, never a signal; what is surely wrong is refused, and named where a control block
** can hold the words. Functions and their parameters are read from abi.def, so that a new one is
** here without being told about. Then what structures hold, and the heads of states.
*/
#include "test.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "abi_rows.h"
#include "compiled_spec.h"
#include "functions.h"
#include "scratch.h"

enum { VOCAB = 13, CONTEXT = 24, BATCH = 2, TIME = 6, PARAMETERS = 16, DAMAGES = 8 };

/* == The model and its arguments ========================================== */

/* Routed, so that states hold lists; averages, so that calls write to caches before they end. */
static const char lua[] =
    "local function one(r) return layer { attention { heads = 2, rope = {} }, mlp { hidden = 8 }, "
    "route = r } end\n"
    "return model { name = 'misused', vocab = 13, context = 24, dim = 16, norm = rmsnorm {},\n"
    "  residual = drr { heads = 2, causal = true, chunk = 4, window = 1, block_layers = 1 },\n"
    "  layers = { one(), one(dtr {}), one() } }\n";

static Built b;
static Instance r;
static Guarded state, other, junk;
static void *pair[BATCH];
static int32_t *ids;
static float out[BATCH * CONTEXT * VOCAB];
static strata_loss loss;
static strata_adamw how;
static strata_setup setup;

static int open_model(void **folder) {
    char path[SCRATCH_PATH];
    if (scratch_setup(folder)) return -1;
    built_open(&b, scratch_path(folder, "misused.lua", path), lua,
               &(CodegenOptions){ .cpu = "native", .level = 1 });
    instance_open(&r, &b.c, BATCH * CONTEXT, 1);
    instance_fill(&r, 3);
    guarded_writable(&r.weights, true);
    guarded_open(&state, b.c.api.state_bytes(CONTEXT));
    guarded_open(&other, b.c.api.state_bytes(CONTEXT));
    guarded_open(&junk, 8192);
    ids = some_ids(&b.c, 4, BATCH * CONTEXT);
    pair[0] = state.at, pair[1] = other.at;
    return 0;
}

static int close_model(void **folder) {
    free(ids);
    guarded_close(&state), guarded_close(&other), guarded_close(&junk);
    instance_close(&r);
    built_close(&b);
    return scratch_teardown(folder);
}

/* Everything as a call may want it, whatever the one before did. */
static void mend(void) {
    loss = (strata_loss){ .struct_size = sizeof loss };
    how = (strata_adamw){ .struct_size = sizeof how,
                          .lr = 1e-3,
                          .beta1 = .9,
                          .beta2 = .99,
                          .eps = 1e-8,
                          .grad_scale = 1,
                          .step = 1 };
    setup = (strata_setup){ .struct_size = sizeof setup, .workers = 1 };
    memset(junk.at, 0x5a, junk.size);
    instance_set_up(&r, (strata_setup){ 0 });
    assert_int_equal(b.c.api.state_init(r.ctx.at, state.at, CONTEXT), STRATA_OK);
    assert_int_equal(b.c.api.state_init(r.ctx.at, other.at, CONTEXT), STRATA_OK);
}

/* == Parameters =========================================================== */

/* By how an argument is damaged. REGION: aligned memory; HEAD: one that says what it is; OBJECT:
** a pointer; OPTION: one that may be NULL; FREE: any value is right, none is tried. */
typedef enum Sort { HEAD, REGION, OBJECT, OPTION, FREE, NUMBER, NUMBER32, SCALE } Sort;

typedef struct Parameter {
    char name[32];
    Sort sort;
    int64_t good;
    bool any; /* a number of which no value is surely wrong */
} Parameter;

#define AT(p) ((int64_t)(intptr_t)(p))

static Parameter known(const char *name, bool of_loss) {
    const Parameter all[] = {
        { "ctx", HEAD, AT(r.ctx.at), false },
        { "state", HEAD, AT(state.at), false },
        { "to", HEAD, AT(other.at), false },
        { "from", HEAD, AT(state.at), false },
        { "w", REGION, AT(r.weights.at), false },
        { "arena", REGION, AT(r.arena.at), false },
        { "train", REGION, AT(r.train.at), false },
        { "states", OBJECT, AT(pair), false },
        { "tokens", OBJECT, AT(ids), false },
        { "targets", OBJECT, AT(ids), false },
        { "how", OBJECT, AT(&how), false },
        { "out", of_loss ? OPTION : OBJECT, of_loss ? AT(&loss) : AT(out), false },
        { "logits", OBJECT, AT(out), false },
        { "nll", OPTION, AT(out), false },
        { "setup", OPTION, AT(&setup), false },
        { "final", FREE, 0, false },
        { "user", FREE, 0, false },
        { "B", NUMBER, BATCH, false },
        { "T", NUMBER, TIME, false },
        { "n", NUMBER, TIME, false },
        { "bytes", NUMBER, (int64_t)r.ctx.size, true },
        { "context", NUMBER, CONTEXT, false },
        { "first", NUMBER, 0, true },
        { "count", NUMBER, 8, true },
        { "batch", NUMBER32, BATCH, false },
        { "share", NUMBER32, 1000000, false },
        { "workers", NUMBER32, 1, true },
        { "length", NUMBER, 0, true },
        { "status", NUMBER32, 0, true },
        { "flags", NUMBER32, 0, true },
        { "scale", SCALE, 0, true },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return all[i];
    fail_msg("parameter '%s' is new: what is right for it?", name);
    return all[0];
}

typedef struct Function {
    const ApiRow *row;
    Parameter parameter[PARAMETERS];
    int parameters;
} Function;

/* "int64_t n", "float *logits", "strata_range_fn final" */
static Parameter parameter_of(const ApiRow *row, const char *from, int length) {
    char text[96];
    snprintf(text, sizeof text, "%.*s", length, from);
    char *name = text + strlen(text);
    while (name > text && name[-1] != ' ' && name[-1] != '*')
        name--;
    Parameter p = known(name, strstr(text, "strata_loss") != NULL);
    if (!strcmp(name, "tokens") && strstr(text, "int64_t")) p.sort = NUMBER, p.good = BATCH * TIME;
    if (!strcmp(name, "logits") && !strcmp(row->name, "prefill")) p.sort = OPTION;
    bool makes = !strcmp(row->name, "init")
        ? !strcmp(name, "ctx")
        : !strncmp(row->name, "state_init", 10) && !strcmp(name, "state");
    if (makes) p.sort = REGION; /* whatever is in it */
    return p;
}

static Function function_of(const ApiRow *row) {
    Function f = { .row = row };
    const char *s = row->parameters + 1;
    if (!strcmp(row->parameters, "(void)")) return f;
    for (int length; *s; s += length + strspn(s + length, ",) ")) {
        length = (int)strcspn(s, ",)");
        assert_in_range(f.parameters, 0, PARAMETERS - 1);
        f.parameter[f.parameters++] = parameter_of(row, s, length);
    }
    return f;
}

/* == Damage =============================================================== */

typedef struct Damage {
    int64_t value;
    bool refused; /* surely wrong */
} Damage;

/* Up to DAMAGES of them. */
static int damages(const Parameter *p, Damage *to) {
    int n = 0;
    const int64_t large[] = {
        0, -1, INT64_MAX, INT64_MIN, (INT64_C(1) << 61) + 1, INT64_C(1) << 60
    };
    const int64_t small[] = { 0, -1, INT32_MAX, INT32_MIN, INT32_MAX - 1 };
    switch (p->sort) {
    case HEAD: to[n++] = (Damage){ AT(junk.at), true }; /* and what REGION has */ /* fallthrough */
    case REGION:
        to[n++] = (Damage){ p->good + 4, true };
        to[n++] = (Damage){ p->good + 32, true }; /* fallthrough */
    case OBJECT: to[n++] = (Damage){ 0, true }; return n;
    case OPTION: to[n++] = (Damage){ 0, false }; return n;
    case NUMBER:
        for (; n < 6; n++)
            to[n] = (Damage){ large[n], !p->any };
        return n;
    case NUMBER32:
        for (; n < 5; n++)
            to[n] = (Damage){ small[n], !p->any };
        return n;
    default: return 0;
    }
}

/* Integers and pointers go in registers and on the stack in their order, whatever is between them
** that is a float (the System V interface of x86-64). */
typedef int64_t (*AnyFunction)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                               int64_t, int64_t, int64_t, int64_t, int64_t, float);

static AnyFunction address(const ApiRow *row) {
    void *const *member = (void *const *)(const void *)((const size_t *)(const void *)&b.c.api + 1);
    for (int i = 0; i < API_ROWS; i++)
        if (api_member[i] == row) return (AnyFunction)(intptr_t)member[i];
    return NULL;
}

static int64_t call(const Function *f, const int64_t *value, float scale) {
    int64_t a[PARAMETERS] = { 0 };
    for (int i = 0, n = 0; i < f->parameters; i++)
        if (f->parameter[i].sort != SCALE) a[n++] = value[i];
    return address(f->row)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                           scale);
}

/* What a call was, for whoever finds that it did not come back. */
typedef struct Attempt {
    char text[256];
    int calls;
} Attempt;

static Attempt *attempt;

static void judge(const Function *f, int64_t result, bool wrong, const char *text) {
    bool status = !strcmp(f->row->type, "int32_t"), size = !strcmp(f->row->type, "size_t"),
         length = !strcmp(f->row->type, "int64_t");
    int32_t code = (int32_t)result;
    const char *why = status && (code < STRATA_OK || code > STRATA_ERROR_PAST) ? "no status"
        : status && wrong && code == STRATA_OK                                 ? "accepted"
        : size && wrong && result                                              ? "a size"
        : length && wrong && result >= 0                                       ? "a length"
        : !status && !size && !length && !result                               ? "NULL"
                                                                               : NULL;
    if (!why) return;
    fprintf(stderr, "%s: %s\n", text, why);
    abort();
}

static void attempt_call(const Function *f, int at, const Damage *one, int at2, const Damage *two) {
    int64_t value[PARAMETERS];
    float scale = attempt->calls % 2 ? 1 : NAN;
    for (int i = 0; i < f->parameters; i++)
        value[i] = f->parameter[i].good;
    if (one) value[at] = one->value;
    if (two) value[at2] = two->value;
    snprintf(attempt->text, sizeof attempt->text, "%s with %s %lld, %s %lld", f->row->name,
             one ? f->parameter[at].name : "", one ? (long long)one->value : 0,
             two ? f->parameter[at2].name : "", two ? (long long)two->value : 0);
    attempt->calls++;
    mend();
    bool wrong = (one && one->refused) || (two && two->refused);
    judge(f, call(f, value, scale), wrong, attempt->text);
}

/* Every damage of every parameter, and each with every one of every later parameter. */
static int try_function(void *arg) {
    const Function *f = arg;
    Damage d[PARAMETERS][DAMAGES];
    int n[PARAMETERS];
    for (int i = 0; i < f->parameters; i++)
        n[i] = damages(&f->parameter[i], d[i]);
    attempt_call(f, 0, NULL, 0, NULL);
    for (int i = 0; i < f->parameters; i++)
        for (int k = 0; k < n[i]; k++) {
            attempt_call(f, i, &d[i][k], 0, NULL);
            for (int j = i + 1; j < f->parameters; j++)
                for (int l = 0; l < n[j]; l++)
                    attempt_call(f, i, &d[i][k], j, &d[j][l]);
        }
    return 0;
}

static void every_argument_may_be_wrong(void **unused) {
    (void)unused;
    attempt = mmap(NULL, sizeof *attempt, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
    assert_ptr_not_equal(attempt, MAP_FAILED);
    for (int i = 0; i < API_ROWS; i++) {
        if (api_rows[i].need == API_PROGRAM) continue;
        Function f = function_of(&api_rows[i]);
        *attempt = (Attempt){ .calls = 0 };
        int ended = apart(try_function, &f);
        if (ended) fail_msg("%s: ended with %d", attempt->text, ended);
        if (f.parameters) assert_in_range(attempt->calls, 2, 100000);
    }
    munmap(attempt, sizeof *attempt);
}

/* == States =============================================================== */

/* What a model finds in a state: its head, and in front of a routed layer's cache how many tokens
** that has. Where these lie is found by making sequences of two lengths that differ in nothing
** else: words that differ and are small are lengths. */
enum { HEAD_WORDS = 8, LENGTHS = 8 };

static int32_t extend(void *at, int n) {
    return b.c.api.prefill(r.ctx.at, r.weights.at, at, r.arena.at, ids, n, out);
}

/* All tokens are routed: each list is as long as the sequence. */
static int find_lengths(int64_t *where) {
    const int64_t *x = state.at, *y = other.at;
    int n = 0;
    mend();
    instance_set_up(&r, (strata_setup){ .routed = 1000001 });
    memset(state.at, 0, state.size), memset(other.at, 0, other.size);
    b.c.api.state_init(r.ctx.at, state.at, CONTEXT);
    b.c.api.state_init(r.ctx.at, other.at, CONTEXT);
    assert_int_equal(extend(state.at, 5), STRATA_OK);
    assert_int_equal(extend(other.at, 7), STRATA_OK);
    for (int64_t i = HEAD_WORDS; i < (int64_t)(state.size / 8); i++)
        if (x[i] == 5 && y[i] == 7) assert_in_range(n, 0, LENGTHS - 1), where[n++] = i;
    return n;
}

typedef struct StateCase {
    int64_t word, value;
} StateCase;

static int32_t uses(int which) {
    int32_t next[BATCH] = { 1, 2 };
    switch (which) {
    case 0: return extend(state.at, 2);
    case 1: return b.c.api.decode(r.ctx.at, r.weights.at, pair, 2, r.arena.at, next, out);
    case 2: return b.c.api.state_copy(r.ctx.at, other.at, state.at);
    default: return b.c.api.state_copy(r.ctx.at, state.at, other.at);
    }
}

/* A state whose word is another, in every call that takes one. */
static int try_state(void *arg) {
    const StateCase *c = arg;
    for (int which = 0; which < 4; which++) {
        mend();
        if (extend(state.at, 5) || extend(other.at, 5)) abort();
        int64_t *word = (int64_t *)state.at + c->word;
        *word = c->value;
        int32_t status = uses(which);
        if (status == STRATA_ERROR_STATE && *word == c->value) continue;
        fprintf(stderr, "word %d = %lld: use %d came back with %d\n", (int)c->word,
                (long long)c->value, which, (int)status);
        return 1;
    }
    return 0;
}

static void damaged_states_are_refused(void **unused) {
    static const int64_t values[] = { -1,          INT64_MIN, INT64_MAX, (INT64_C(1) << 61) + 1,
                                      CONTEXT + 1, INT32_MAX };
    (void)unused;
    int64_t word[HEAD_WORDS + LENGTHS];
    for (int i = 0; i < HEAD_WORDS; i++)
        word[i] = i;
    int n = HEAD_WORDS, lengths = find_lengths(word + n);
    assert_in_range(lengths, 1, LENGTHS);
    n += lengths;
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            StateCase c = { word[i], values[k] };
            assert_int_equal(apart(try_state, &c), 0);
        }
    /* more tokens in a list than in the sequence; another context or share */
    for (int i = HEAD_WORDS; i < n; i++)
        assert_int_equal(apart(try_state, &(StateCase){ word[i], 6 }), 0);
    assert_int_equal(apart(try_state, &(StateCase){ 1, CONTEXT - 1 }), 0);
    assert_int_equal(apart(try_state, &(StateCase){ 3, CONTEXT - 1 }), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_may_be_wrong),
        cmocka_unit_test(damaged_states_are_refused),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
