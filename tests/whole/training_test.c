/*
** Whole programs, from a spec on: 60 steps of training, told step by step in the log, are
** those of an independent trainer (trainer.h) from the same weights in the same order;
** what the trained program then writes is what its own logits say.  That the comparison
** would notice is tested too: a trainer with one mistake in it must disagree.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "json.h"
#include "program_run.h"
#include "safetensors.h"
#include "trainer.h"

/* An odd number of windows and a tail: every other pass over the text splits a batch. */
enum { CONTEXT = 16, VOCAB = 256, WINDOWS = 79, TEXT = WINDOWS * CONTEXT + 1 + 7, STEPS = 60 };

/* What correct trainers may differ by; what this one may, some ten times its rounding, the
** norm's relative to itself; what logits may, relative to the largest. */
static const double loss_promised = 3e-4, loss_allowed = 3e-5, norm_allowed = 1e-3,
                    logit_allowed = 3e-5;

/* == Two models =========================================================== */

typedef struct Program {
    const char *name, *lua;
    Recipe recipe;
} Program;

/* Everything of the recipe said. */
static const Program details = {
    "details",
    "return model { name = 'details', vocab = 256, context = 16, dim = 32, tokenizer = 'bytes',\n"
    "  norm = rmsnorm { eps = 1e-6 }, residual = haares { blocks = 2 },\n"
    "  layers = times(3, layer { attention { heads = 4, kv_heads = 2, rope = { theta = 10000 } },\n"
    "                            mlp { hidden = 56, activation = 'swiglu' } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3, betas = { 0.85, 0.98 }, eps = 1e-7, weight_decay = "
    "0.2, clip = 1.5 },\n"
    "            schedule = cosine { warmup = 0.1, min_lr = 4e-4 }, batch = 2 } }\n",
    { .lr = 4e-3,
      .beta1 = 0.85,
      .beta2 = 0.98,
      .eps = 1e-7,
      .weight_decay = 0.2,
      .clip = 1.5,
      .warmup = 0.1,
      .min_lr = 4e-4,
      .steps = STEPS,
      .batch = 2,
      .accumulate = 1,
      .decay_rank = 2,
      .correct_bias = true,
      .rate = rate_cosine,
      .start = start_sequential }
};

/* The optimizer's defaults. */
static const Program depth_reads = {
    "depth_reads",
    "return model { name = 'depth_reads', vocab = 256, context = 16, dim = 32, tokenizer = "
    "'bytes',\n"
    "  norm = layernorm { eps = 1e-5 }, residual = attnres { block_size = 2, heads = 2 },\n"
    "  embedding = { tied = false, positions = 'learned' },\n"
    "  layers = times(2, layer { attention { heads = 2, bias = true },\n"
    "                            mlp { hidden = 64, activation = 'gelu', bias = true } }),\n"
    "  train = { optimizer = adamw { lr = 4e-3 }, batch = 2,\n"
    "            schedule = wsd { warmup = 0.05, decay = 0.3, min_lr = 1e-4 } } }\n",
    { .lr = 4e-3,
      .beta1 = 0.9,
      .beta2 = 0.95,
      .eps = 1e-8,
      .weight_decay = 0.01,
      .clip = 1,
      .warmup = 0.05,
      .decay = 0.3,
      .min_lr = 1e-4,
      .steps = STEPS,
      .batch = 2,
      .accumulate = 1,
      .decay_rank = 2,
      .correct_bias = true,
      .rate = rate_wsd,
      .start = start_sequential }
};

/* == Commands ============================================================= */

static Folder folder;
static char text[TEXT + 1];

/* Runs PROGRAM and words through the shell, in the folder; they must succeed. */
__attribute__((format(printf, 2, 3))) static void run(const char *program, const char *format,
                                                      ...) {
    char words[512], command[1024];
    va_list arguments;
    va_start(arguments, format);
    assert_true(vsnprintf(words, sizeof words, format, arguments) < (int)sizeof words);
    va_end(arguments);
    int n = snprintf(command, sizeof command, "cd '%s' && '%s' %s >out 2>err </dev/null",
                     folder.path, program, words);
    assert_true(n < (int)sizeof command);
    int status = system(command);
    if (status == 0) return;
    char *err = folder_read(&folder, "err", NULL);
    fail_msg("%s %s: status %d: %s", program, words, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
             err ? err : "");
}

static const char *path(const char *name, const char *suffix) {
    static char whole[2][256];
    static int next;
    char *to = whole[next ^= 1];
    snprintf(to, sizeof whole[0], "%s/%s%s", folder.path, name, suffix);
    return to;
}

/* Sequential windows, without words about what the spec says. */
static void train(const Program *p, int64_t accumulate, const char *log) {
    run(path(p->name, ""),
        "train --data text --steps %d --order sequential --init %s.first --log %s --out %s.last"
        " --seed 5 --threads 2 --accumulate %lld",
        STEPS, p->name, log, p->name, (long long)accumulate);
}

/* NAME.lua, the program NAME, its initial weights NAME.first, and the log of a run, NAME.log. */
static void make(const Program *p) {
    char file[64], log[64];
    snprintf(file, sizeof file, "%s.lua", p->name);
    snprintf(log, sizeof log, "%s.log", p->name);
    folder_write(&folder, file, p->lua, strlen(p->lua));
    run(BUILD_DIR "/strata", "build %s", file);
    run(path(p->name, ""), "train --data text --steps 0 --seed 11 --out %s.first", p->name);
    train(p, 1, log);
}

/* Sentences, so that there is something to learn. */
static void make_text(void) {
    static const char *const word[] = { "the", "river",  "stone", "carries", "under",
                                        "a",   "bridge", "of",    "light",   "and" };
    uint32_t random = 20;
    for (int n = 0; n < TEXT; random = random * 1664525 + 1013904223)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s ", word[(random >> 16) % 10]);
}

static int open_folder(void **state) {
    (void)state;
    folder_open(&folder);
    make_text();
    folder_write(&folder, "text", text, TEXT);
    make(&details);
    make(&depth_reads);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == The program's run ==================================================== */

static double key(const Json *j, const char *name) {
    const JsonNode *n = json_member(j, j->node, name);
    double value = NAN;
    if (!n || !json_double(n, &value)) fail_msg("expected a number '%s' in %s", name, j->text);
    return value;
}

/* A line a step, after one about the run. */
static void read_log(const char *name, TrainerStep step[STEPS]) {
    size_t length;
    char *log = folder_read(&folder, name, &length), *line = log;
    assert_non_null(log);
    for (int at = 0; at <= STEPS; at++) {
        char *end = strchr(line, '\n');
        Json j = { 0 };
        Error e = { 0 };
        if (!end || json_parse(&j, name, line, (size_t)(end - line), 1000, &e))
            fail_msg("%s:%d: %s", name, at + 1, e.text);
        if (at > 0) {
            assert_true(key(&j, "step") == at);
            step[at - 1] = (TrainerStep){ key(&j, "loss"), key(&j, "cross_entropy"),
                                          key(&j, "grad_norm"), key(&j, "lr") };
        }
        json_free(&j);
        line = end + 1;
    }
    assert_true(line == log + length);
    free(log);
}

/* == Agreement ============================================================ */

typedef struct Gap {
    double loss, norm, lr;
} Gap;

static void widen(double *most, double gap) {
    if (!(gap <= *most)) *most = isnan(gap) ? INFINITY : gap;
}

static void widen_all(Gap *most, const TrainerStep *got, const TrainerStep *want) {
    widen(&most->loss, fabs(got->loss - want->loss));
    widen(&most->loss, fabs(got->cross_entropy - want->cross_entropy));
    widen(&most->norm, fabs(got->grad_norm - want->grad_norm) / want->grad_norm);
    widen(&most->lr, fabs(got->lr - want->lr) / want->lr);
}

static bool agrees(const Gap *g) {
    return g->loss <= loss_allowed && g->norm <= norm_allowed && g->lr <= 1e-12;
}

static double *first_weight(void *user, const char *name, int64_t *count) {
    const Safetensors *file = user;
    const Tensor *t = safetensors_find(file, name);
    Error e = { 0 };
    if (!t) fail_msg("%s: expected '%s'", file->path, name);
    double *x = malloc((size_t)t->count * sizeof *x);
    assert_non_null(x);
    if (safetensors_read_f64(file, t, x, &e)) fail_msg("%s", e.text);
    *count = t->count;
    return x;
}

/* A trainer that starts where the program starts. */
static Trainer *beginner(const Program *p) {
    Safetensors file = { 0 };
    Error e = { 0 };
    if (safetensors_open(&file, path(p->name, ".first"), &e)) fail_msg("%s", e.text);
    Trainer *t = trainer_open(path(p->name, ".lua"), first_weight, &file);
    safetensors_close(&file);
    return t;
}

static void check(const Program *p, int64_t accumulate, const char *log) {
    TrainerStep got[STEPS];
    Recipe r = p->recipe;
    Gap most = { 0 };
    int clipped = 0;
    r.accumulate = accumulate;
    read_log(log, got);
    Trainer *t = beginner(p);
    for (int i = 0; i < STEPS; i++) {
        TrainerStep want = trainer_step(t, &r, text, TEXT);
        widen_all(&most, &got[i], &want);
        clipped += want.grad_norm > r.clip;
        if (!agrees(&most))
            fail_msg("step %d: loss %.9g, norm %.9g, rate %.9g; expected %.9g, %.9g, %.9g", i + 1,
                     got[i].loss, got[i].grad_norm, got[i].lr, want.loss, want.grad_norm, want.lr);
    }
    trainer_close(t);
    print_message("%s: %d micro-batches: losses %.1e apart, norms %.1e; %d steps clipped\n",
                  p->name, (int)accumulate, most.loss, most.norm, clipped);
    assert_true(got[STEPS - 1].loss < 0.7 * got[0].loss);
    assert_true(clipped > 0 && clipped < STEPS);
}

static void details_train(void **state) {
    (void)state;
    check(&details, 1, "details.log");
}

static void micro_batches_train(void **state) {
    (void)state;
    train(&details, 2, "log");
    check(&details, 2, "log");
}

static void depth_reads_train(void **state) {
    (void)state;
    check(&depth_reads, 1, "depth_reads.log");
}

/* == Mistakes ============================================================= */

static double rate_late(const Recipe *r, int64_t step) { return rate_cosine(r, step - 1); }
static double rate_to_zero(const Recipe *r, int64_t step) {
    Recipe zero = *r;
    zero.min_lr = 0;
    return rate_cosine(&zero, step);
}

/* Windows that share no token. */
static int64_t start_apart(const Recipe *r, int64_t count, int64_t context, int64_t window) {
    (void)r;
    return window % (count / (context + 1)) * (context + 1);
}

/* Every row of a batch reads a part of the text of its own. */
static int64_t start_rows(const Recipe *r, int64_t count, int64_t context, int64_t window) {
    int64_t part = (count - 1) / context / r->batch;
    return (window % r->batch * part + window / r->batch % part) * context;
}

/* The windows that fill no batch are dropped with the tail. */
static int64_t start_batches(const Recipe *r, int64_t count, int64_t context, int64_t window) {
    return window % ((count - 1) / context / r->batch * r->batch) * context;
}

static void wrong_beta1(Recipe *r) { r->beta1 = 0.9; }
static void wrong_beta2(Recipe *r) { r->beta2 = 0.95; }
static void wrong_eps(Recipe *r) { r->eps = 1e-5; }
static void biased(Recipe *r) { r->correct_bias = false; }
static void undecayed(Recipe *r) { r->weight_decay = 0; }
static void decayed_norms(Recipe *r) { r->decay_rank = 1; }
static void unclipped(Recipe *r) { r->clip = INFINITY; }
static void late(Recipe *r) { r->rate = rate_late; }
static void to_zero(Recipe *r) { r->rate = rate_to_zero; }
static void apart(Recipe *r) { r->start = start_apart; }
static void in_rows(Recipe *r) { r->start = start_rows; }
static void in_batches(Recipe *r) { r->start = start_batches; }

/* The first step at which a trainer's loss is further from the log's than promised; 0: none. */
static int shows(const Recipe *r, const TrainerStep logged[STEPS]) {
    int found = 0;
    Trainer *t = beginner(&details);
    for (int i = 0; i < STEPS && !found; i++)
        if (fabs(trainer_step(t, r, text, TEXT).loss - logged[i].loss) > loss_promised)
            found = i + 1;
    trainer_close(t);
    return found;
}

static const struct {
    const char *name;
    void (*make)(Recipe *);
} mistakes[] = {
    { "beta1", wrong_beta1 },
    { "beta2", wrong_beta2 },
    { "eps", wrong_eps },
    { "no bias correction", biased },
    { "no decay", undecayed },
    { "decay of norms", decayed_norms },
    { "no clipping", unclipped },
    { "a schedule one step late", late },
    { "a schedule without its minimum", to_zero },
    { "windows that share no token", apart },
    { "windows by row", in_rows },
    { "windows of whole batches only", in_batches },
};

static void mistakes_show(void **state) {
    (void)state;
    TrainerStep logged[STEPS];
    read_log("details.log", logged);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        Recipe r = details.recipe;
        mistakes[i].make(&r);
        int step = shows(&r, logged);
        if (!step) fail_msg("%s: expected other losses than the program's", mistakes[i].name);
        print_message("%s: shows at step %d\n", mistakes[i].name, step);
    }
}

/* == Writing ============================================================== */

/* Logits [count, VOCAB] of one sequence, malloc'ed; 'how': in one pass, or token by token. */
static float *logits_of(const Program *p, const int32_t *ids, int64_t count, const char *how) {
    TensorList l = { 0 };
    Safetensors file = { 0 };
    Error e = { 0 };
    int64_t shape[] = { 1, count };
    assert_int_equal(tensors_add(&l, "", "tokens", DTYPE_I32, 2, shape, ids, NULL), 0);
    assert_int_equal(safetensors_write(path("tokens", ""), &l, NULL, 0, 0, NULL), 0);
    tensors_free(&l);
    run(path(p->name, ""), "logits --weights weights --tokens tokens --out logits %s", how);
    if (safetensors_open(&file, path("logits", ""), &e)) fail_msg("%s", e.text);
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
static void check_writing(const Program *p, const char *prompt, bool seen[VOCAB]) {
    int32_t ids[CONTEXT] = { 0 };
    size_t given = strlen(prompt), length;
    run(path(p->name, ""), "generate --weights weights --prompt '%s' --temperature 0", prompt);
    char *out = folder_read(&folder, "out", &length);
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
    const Program *const program[] = { &details, &depth_reads };
    for (int p = 0; p < 2; p++) {
        bool seen[VOCAB] = { false };
        int different = 0;
        run(path(program[p]->name, ""), "train --data text --steps 300 --lr 0.01 --out weights");
        for (int i = 0; i < 4; i++)
            check_writing(program[p], prompt[i], seen);
        for (int v = 0; v < VOCAB; v++)
            different += seen[v];
        if (different < 4)
            fail_msg("%s: expected at least 4 different characters, found %d", program[p]->name,
                     different);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details_train),        cmocka_unit_test(micro_batches_train),
        cmocka_unit_test(depth_reads_train),    cmocka_unit_test(mistakes_show),
        cmocka_unit_test(writes_the_likeliest),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
