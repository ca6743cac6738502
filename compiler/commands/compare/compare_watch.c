/* SPDX-License-Identifier: MIT
** What is said while a run trains: on a terminal one line that is rewritten, elsewhere a line now
** and then.  The step is the last one in the run's log.
*/
#include "compare_runs.h"

#include <time.h>

static const double BETWEEN_LINES = 5; /* seconds */

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

static void tell(const RunWatch *x, const char *end) {
    const Trainer *t = x->trainer;
    const RunPlan *p = x->plan;
    char lr[32], rate[48] = "";
    if (p->lr > 0) print_text(rate, sizeof rate, ", lr %s", print_double(lr, p->lr));
    workshop_say(t->w, "training %s, seed %llu%s, %lld of %lld%s", t->c->variant[p->variant].label,
                 (unsigned long long)p->seed, rate, (long long)t->done + 1, (long long)t->runs,
                 end);
}

void watch_begin(RunWatch *x, const Trainer *t, const RunPlan *p, int64_t first) {
    char path[WORKSHOP_PATH];
    double loss;
    *x = (RunWatch){ .trainer = t, .plan = p, .told = watch_now(), .first = first };
    run_path(p, "jsonl", path);
    if (!run_log_last(path, &x->before, &loss)) x->before = -1;
    if (t->w->tells) tell(x, "");
}

void watch_tell(void *watch) {
    RunWatch *x = watch;
    char path[WORKSHOP_PATH], left[32], end[160];
    int64_t step;
    double loss, now = watch_now();
    if (!x->trainer->w->tells && now - x->told < BETWEEN_LINES) return;
    run_path(x->plan, "jsonl", path);
    if (!run_log_last(path, &step, &loss)) return;
    if (step == x->before) return; /* the program has not cut the log yet */
    time_left(x, step, left);
    print_text(end, sizeof end, ": step %lld of %d, loss %.4f%s", (long long)step,
               x->trainer->c->steps, loss, left);
    tell(x, end);
    x->told = now;
}
