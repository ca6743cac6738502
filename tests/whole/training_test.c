/* SPDX-License-Identifier: MIT
** Whole programs, from a spec on: 60 steps of training, told step by step in the log, are
** those of an independent trainer (trainer.h) from the same weights in the same order.
** That the comparison would notice is tested too: a trainer with one mistake in it must
** disagree.
*/
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner_run.h"

enum { STEPS = 60 };

/* What correct trainers may differ by; what this one may, some ten times its rounding, the
** norm's relative to itself. */
static const double loss_promised = 3e-4, loss_allowed = 3e-5, norm_allowed = 1e-3;

/* == Two models =========================================================== */

typedef struct Program {
    const Learner *learner;
    Recipe recipe;
} Program;

static const Program details_program = { &details,
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
                                           .start = start_sequential } };

static const Program depth_reads_program = { &depth_reads,
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
                                               .start = start_sequential } };

/* == Commands ============================================================= */

static Folder folder;
static char text[TEXT + 1];

/* Sequential windows, without words about what the spec says. */
static void train(const Program *p, int64_t accumulate, const char *log) {
    const char *name = p->learner->name;
    folder_shell(&folder,
                 "./%s train --data text --steps %d --order sequential --init %s.first --log %s"
                 " --out %s.last --overwrite --seed 5 --threads 2 --accumulate %lld",
                 name, STEPS, name, log, name, (long long)accumulate);
}

/* The program NAME, its initial weights NAME.first, and the log of a run, NAME.log. */
static void make(const Program *p) {
    const char *name = p->learner->name;
    char log[64];
    snprintf(log, sizeof log, "%s.log", name);
    learner_build(&folder, p->learner);
    folder_shell(&folder, "./%s train --data text --steps 0 --seed 11 --out %s.first", name, name);
    train(p, 1, log);
}

static int open_folder(void **state) {
    (void)state;
    learners_open(&folder, text);
    make(&details_program);
    make(&depth_reads_program);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    folder_close(&folder);
    return 0;
}

/* == The program's run ==================================================== */

static void read_log(const char *name, TrainerStep step[STEPS]) {
    learner_log(&folder, name, step, STEPS);
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

/* A trainer that starts where the program starts. */
static Trainer *beginner(const Program *p) {
    char weights[256];
    snprintf(weights, sizeof weights, "%s.first", p->learner->name);
    return learner_trainer(&folder, p->learner, weights);
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
                  p->learner->name, (int)accumulate, most.loss, most.norm, clipped);
    assert_true(got[STEPS - 1].loss < 0.7 * got[0].loss);
    assert_true(clipped > 0 && clipped < STEPS);
}

static void details_train(void **state) {
    (void)state;
    check(&details_program, 1, "details.log");
}

static void micro_batches_train(void **state) {
    (void)state;
    train(&details_program, 2, "log");
    check(&details_program, 2, "log");
}

static void depth_reads_train(void **state) {
    (void)state;
    check(&depth_reads_program, 1, "depth_reads.log");
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
    Trainer *t = beginner(&details_program);
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
        Recipe r = details_program.recipe;
        mistakes[i].make(&r);
        int step = shows(&r, logged);
        if (!step) fail_msg("%s: expected other losses than the program's", mistakes[i].name);
        print_message("%s: shows at step %d\n", mistakes[i].name, step);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details_train),
        cmocka_unit_test(micro_batches_train),
        cmocka_unit_test(depth_reads_train),
        cmocka_unit_test(mistakes_show),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
