/* SPDX-License-Identifier: MIT
** See evaluate_watch.h. */
#include "evaluate_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "console.h"
#include "machine.h"

static const double EVALUATE_WATCH_BETWEEN_LINES = 5, BETWEEN_FRAMES = 0.1; /* seconds */

static void watch_put(Text *t) {
    if (!t->failed) (void)!write(STDERR_FILENO, t->at, t->length);
    text_free(t);
}

void eval_watch_open(EvalWatch *x, const Data *d, int64_t length, int forms) {
    const char *colour = getenv("NO_COLOR");
    *x = (EvalWatch){ .progress = { .unit = "window",
                                    .tokens = (double)length,
                                    .terminal = progress_rewrites(STDERR_FILENO),
                                    .plain = colour && *colour },
                      .begun = machine_now() };
    for (int i = 0; i < d->sources; i++)
        x->progress.steps += data_windows(d, i, length) * (forms > 1 ? forms : 1);
    x->told = x->begun;
}

void eval_watch(void *watch, int64_t windows, double nll, int64_t tokens) {
    EvalWatch *x = watch;
    Progress *p = &x->progress;
    double now = machine_now(), loss = nll / (double)tokens;
    Text t = { 0 };
    x->done += windows;
    if (now - x->told < (p->terminal ? BETWEEN_FRAMES : EVALUATE_WATCH_BETWEEN_LINES)) return;
    x->told = now;
    p->seconds = (now - x->begun) / (double)x->done;
    if (p->terminal) {
        text_add(&t, "\r\033[K");
        progress_line(p, x->done, loss, console_columns(STDERR_FILENO), &t);
    } else {
        progress_words(p, x->done, loss, &t);
    }
    p->line = p->terminal;
    watch_put(&t);
}

void eval_watch_close(EvalWatch *x) {
    Text t = { 0 };
    if (!x->progress.line) return;
    text_add(&t, "\r\033[K");
    watch_put(&t);
}
