/* SPDX-License-Identifier: MIT
** Reports the progress of a training run (doing.h) from its first step on.  The step is the last
** one in the run's log.
*/
#include "compare_runs.h"

#include <time.h>

static const double WATCH_BETWEEN_LINES = 5; /* seconds */

double watch_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void time_words(char to[32], double seconds) {
    long long s = (long long)(seconds + 0.5);
    if (s >= 3600) print_text(to, 32, ", %lldh%02lldm left", s / 3600, s / 60 % 60);
    else if (s >= 60) print_text(to, 32, ", %lldm%02llds left", s / 60, s % 60);
    else print_text(to, 32, ", %llds left", s);
}

/* Of all runs, if the others' steps take as long as those so far. */
static void time_left(const RunWatch *x, int64_t step, char to[32]) {
    const Trainer *t = x->trainer;
    int64_t made = t->steps + step - x->first, left = (t->runs - t->done) * t->c->steps - step;
    *to = 0;
    if (made > 0) time_words(to, (watch_now() - t->start) / (double)made * (double)left);
}

/* "training haares, seed 1, lr 0.002, 3 of 20" */
static const char *run_words(const Trainer *t, const RunPlan *p, char to[384]) {
    char lr[32], rate[48] = "";
    if (p->lr > 0) print_text(rate, sizeof rate, ", lr %s", print_double(lr, p->lr));
    print_text(to, 384, "training %s, seed %llu%s, %lld of %lld", t->c->variant[p->variant].label,
               (unsigned long long)p->seed, rate, (long long)t->done + 1, (long long)t->runs);
    return to;
}

void watch_begin(RunWatch *x, const Trainer *t, const RunPlan *p, int64_t first) {
    char path[WORKSHOP_PATH], words[384];
    double loss;
    *x = (RunWatch){ .trainer = t, .plan = p, .told = watch_now(), .first = first };
    run_path(p, "jsonl", path);
    if (!run_log_last(path, &x->before, &loss)) x->before = -1;
    doing(t->w->allowance, "%s", run_words(t, p, words));
}

void watch_tell(void *watch) {
    RunWatch *x = watch;
    Allowance *a = x->trainer->w->allowance;
    char path[WORKSHOP_PATH], left[32], words[384];
    int64_t step;
    double loss, now = watch_now();
    if (!doing_on_terminal(a) && now - x->told < WATCH_BETWEEN_LINES) return;
    run_path(x->plan, "jsonl", path);
    if (!run_log_last(path, &step, &loss)) return;
    if (step == x->before) return; /* the program has not cut the log yet */
    time_left(x, step, left);
    doing_say(a, "%s: step %lld of %d, loss %.4f%s", run_words(x->trainer, x->plan, words),
              (long long)step, x->trainer->c->steps, loss, left);
    x->told = now;
}
