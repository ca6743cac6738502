/* SPDX-License-Identifier: MIT
** The state of a run: whether it is finite, and where it is saved.
*/
#include "train.h"

#include <math.h>
#include <string.h>

#include "shell.h"
#include "weights.h"

/* Index of the first value that is not finite, or -1. */
static int64_t not_finite(const float *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        if ((bits & 0x7f800000u) == 0x7f800000u) return i;
    }
    return -1;
}

/* Names the first tensor of weights, or of gradients and moments, that is not finite. */
static bool find_not_finite(const Run *r, const char **name, const char **what, int64_t *index) {
    static const char *const thirds[] = { "gradient of ", "first moment of ", "second moment of " };
    const strata_model *m = r->p->m;
    const float *w = r->s.weights.at, *train = r->s.train.at;
    for (int32_t i = 0; i < m->tensors; i++) {
        const strata_tensor *t = &strata_tensors(m)[i];
        *index = not_finite(w + t->weight, t->count);
        *name = strata_string(m, t->name);
        *what = "";
        for (int part = 0; *index < 0 && part < 3; part++) {
            int64_t at = part                ? weights_train_at(m, i, part)
                : i < m->tensors - m->frozen ? t->gradient
                                             : -1;
            *what = thirds[part];
            if (at >= 0) *index = not_finite(train + at, t->count);
        }
        if (*index >= 0) return true;
    }
    return false;
}

int run_diverged(const Run *r, int64_t step, const char *quantity, double value, Error *e) {
    const char *name = "", *what = "";
    int64_t index = 0;
    const char *found = isnan(value) ? "nan" : "inf";
    if (find_not_finite(r, &name, &what, &index))
        error_set(e, STATUS_DIVERGED,
                  "train: step %lld: expected a finite %s, found %s; the first tensor that is not "
                  "finite: %s%s[%lld]",
                  (long long)step, quantity, found, what, name, (long long)index);
    else
        error_set(e, STATUS_DIVERGED,
                  "train: step %lld: expected a finite %s, found %s; weights and gradients are "
                  "finite",
                  (long long)step, quantity, found);
    error_line(e,
               "the last checkpoint stays as it is; a smaller --lr or --clip in the spec may help");
    return STATUS_DIVERGED;
}

/* A state that is not finite must never replace one that is. */
static int state_check_finite(const Run *r, Error *e) {
    const char *name, *what;
    int64_t index;
    return find_not_finite(r, &name, &what, &index)
        ? run_diverged(r, r->state.step, "state", (double)NAN, e)
        : STATUS_OK;
}

int run_save(Run *r, Error *e) {
    Outputs *o = r->outputs;
    if (!o) return STATUS_OK;
    bool whole = !r->words.weights_only || !checkpoint_done(&r->state);
    int status = state_check_finite(r, e);
    if (status) return status;
    status = whole ? checkpoint_save(r->out, r->p->m, session_w(&r->s), r->s.train.at,
                                     &r->tokenizer, &r->state, e)
                   : checkpoint_save_weights(r->out, r->p->m, session_w(&r->s), &r->tokenizer,
                                             &r->state, true, e);
    bool first = !status && !o->saved && !r->resumed;
    o->saved |= !status;
    return first ? run_replaces(r, e) : status;
}

int run_save_best(Run *r, Error *e) {
    Outputs *o = r->outputs;
    if (!o) return STATUS_OK;
    int status = state_check_finite(r, e);
    if (!status)
        status = checkpoint_save_weights(o->best, r->p->m, session_w(&r->s), &r->tokenizer,
                                         &r->state, false, e);
    o->saved_best |= !status;
    return status;
}

/* == The last line ======================================================== */

/* The command that goes on: what no checkpoint remembers is said again. */
static void state_add_command(const Run *r, Text *t) {
    static const OptionId again[] = { OPTION_OUT,        OPTION_LOG,     OPTION_TENSORBOARD,
                                      OPTION_SAVE_EVERY, OPTION_THREADS, OPTION_TOKENIZER,
                                      OPTION_VAL_TOKENS };
    text_shell_word(t, r->p->path);
    text_add(t, " train --resume");
    for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
        const OptionValue *v = option(r->p, again[i]);
        if (!v->given) continue;
        text_add(t, " --%s ", program_options.option[again[i]].name);
        if (v->text) text_shell_word(t, v->text);
        else text_add(t, "%lld", (long long)v->count);
    }
    if (option(r->p, OPTION_NO_BEST)->given)
        text_add(t, " --%s", program_options.option[OPTION_NO_BEST].name);
}

void run_end(Run *r, bool worked) {
    const Checkpoint *c = &r->state;
    Text t = { 0 };
    char at[64];
    state_add_command(r, &t);
    if (t.failed) text_clear(&t);
    const char *steps = progress_steps(&r->outputs->progress, c->step, at);
    if (!checkpoint_done(c))
        progress_note(&r->outputs->progress, "%s: step %s; to go on: %s", r->out, steps, t.at);
    else if (!worked && c->step > 0)
        progress_note(&r->outputs->progress,
                      "%s: step %s, the last of the run; to go on: %s --steps N", r->out, steps,
                      t.at);
    else progress_note(&r->outputs->progress, "%s: step %lld", r->out, (long long)c->step);
    if (c->has_best && c->best_step < c->step && !option(r->p, OPTION_NO_BEST)->given)
        progress_note(&r->outputs->progress, "%s: step %lld, the best by validation (%.4f)",
                      r->outputs->best, (long long)c->best_step, c->best_val_loss);
    text_free(&t);
}
