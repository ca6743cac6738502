/* SPDX-License-Identifier: MIT
** Writing what a run writes; see train_outputs.h.
*/
#include "train.h"

#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "place.h"

/* No output may land on another file of the run. */
static int outputs_check_files(const Run *r, Error *e) {
    const char *log = option(r->p, OPTION_LOG)->text,
               *out[] = { r->out, r->outputs->best, r->outputs->before };
    int status = program_unread(r->p, log, e);
    for (int i = 0; !status && i < 3; i++)
        if (log && (!strcmp(log, out[i]) || place_distinct(out[i], log, NULL)))
            status = error_set(e, STATUS_USER,
                               "%s: expected different files for --out and --log, found one", log);
        else status = program_unread(r->p, out[i], e);
    if (!status) status = output_check(r->out, true, e);
    return status ? status : output_check(r->outputs->best, false, e);
}

/* PATH SUFFIX, to be freed; NULL: no memory. */
static char *outputs_beside(const char *path, const char *suffix, Error *e) {
    size_t size = strlen(path) + strlen(suffix) + 1;
    char *name = malloc(size);
    if (!name) return error_memory(e, "--out", size), NULL;
    print_text(name, size, "%s%s", path, suffix);
    return name;
}

int outputs_open(Run *r, Error *e) {
    const char *given = option(r->p, OPTION_OUT)->text, *name = model_text(r->p, r->p->m->name);
    Outputs *o = r->outputs;
    r->out = outputs_beside(given ? given : name, given ? "" : ".safetensors", e);
    if (!r->out) return e->status;
    if (!o) return STATUS_OK;
    progress_open(&o->progress);
    o->progress.quiet = option(r->p, OPTION_QUIET)->given;
    o->best = outputs_beside(r->out, ".best", e);
    o->before = o->best ? outputs_beside(r->out, ".prev", e) : NULL;
    return o->before ? outputs_check_files(r, e) : e->status;
}

static int open_log(Run *r, Error *e) {
    bool fresh = true;
    int status = train_log_open(&r->outputs->log, option(r->p, OPTION_LOG)->text,
                                option(r->p, OPTION_OVERWRITE)->given ? NULL : r->state.run,
                                r->resumed ? r->state.step : -1, &fresh, e);
    return status || !fresh ? status : run_log(r, e);
}

int outputs_begin(Run *r, Error *e) {
    if (!r->outputs) return STATUS_OK;
    int status = open_log(r, e);
    if (!status)
        status = event_file_open(&r->outputs->events, option(r->p, OPTION_TENSORBOARD)->text,
                                 r->resumed ? r->state.step : 0, e);
    return status ? status : run_events(r, e);
}

void outputs_start(Run *r) {
    if (r->outputs) run_announce(r);
    r->start = machine_now() - r->state.elapsed;
    if (!r->outputs) return;
    r->outputs->progress.begun = r->start;
    r->outputs->progress.end = r->state.minutes > 0 ? r->start + 60 * r->state.minutes : 0;
}

/* == Steps ================================================================ */

static int log_step(Run *r, const TrainStep *x, Error *e) {
    EventScalar scalar[] = {
        { "loss/training", x->loss },
        { "loss/cross_entropy", x->cross_entropy },
        { "learning_rate", x->lr },
        { "gradient_norm", x->grad_norm },
        { "tokens_per_second", x->tokens_per_second },
    };
    int status = train_log_step(&r->outputs->log, x, e);
    return status ? status : event_file_add(&r->outputs->events, x->step, scalar, 5, e);
}

/* Notes how long a step took; the peak is measured anew when that shows that it was too low. */
static void note_time(Run *r, double seconds) {
    Progress *g = &r->outputs->progress;
    progress_time(g, seconds);
    if (!progress_beats_peak(g)) return;
    double again = machine_peak(r->s.pool, machine_multiplier(r->p->m)),
           rate = g->flops / g->seconds;
    g->peak = again > rate ? again : rate;
}

/* Of the source that came round most often. */
static double most_epochs(const TrainStep *x) {
    double most = 0;
    for (int i = 0; i < x->sources; i++)
        most = x->epoch[i] > most ? x->epoch[i] : most;
    return most;
}

int outputs_step(Run *r, const TrainStep *x, Error *e) {
    if (!r->outputs) return STATUS_OK;
    Progress *g = &r->outputs->progress;
    int status = log_step(r, x, e);
    note_time(r, x->seconds);
    g->epoch = most_epochs(x);
    progress_step(g, x->step, x->loss);
    return status;
}

/* == Evaluations ========================================================== */

/* A scalar for each, if they are several. */
static int event_losses(Run *r, double all, Error *e) {
    const Data *d = &r->val;
    int status = event_file_add(&r->outputs->events, r->state.step,
                                &(EventScalar){ "loss/validation", all }, 1, e);
    for (int i = 0; !status && d->sources > 1 && i < d->sources; i++) {
        Text tag = { 0 };
        text_add(&tag, "loss/validation/%s", d->source[i].name);
        status = text_status(&tag, e);
        if (!status)
            status = event_file_add(&r->outputs->events, r->state.step,
                                    &(EventScalar){ tag.at, r->val_loss[i] }, 1, e);
        text_free(&tag);
    }
    return status;
}

int outputs_evaluation(Run *r, double loss, double training, bool best, Error *e) {
    if (!r->outputs) return STATUS_OK;
    const Checkpoint *c = &r->state;
    Progress *g = &r->outputs->progress;
    char at[64];
    progress_note(g, "step %s  validation loss %.4f  (best %.4f at step %lld)",
                  progress_steps(g, c->step, at), loss, c->best_val_loss, (long long)c->best_step);
    for (int i = 0; r->val.sources > 1 && i < r->val.sources; i++)
        progress_note(g, "  %.4f  %s", r->val_loss[i], r->val.source[i].name);
    TrainEvaluation x = {
        c->step, loss,       r->s.m->forms == 2 ? &training : NULL, c->best_step, c->best_val_loss,
        &r->val, r->val_loss
    };
    int status = STATUS_OK;
    if (best && !option(r->p, OPTION_NO_BEST)->given) status = run_save_best(r, e);
    if (!status) status = train_log_evaluation(&r->outputs->log, &x, e);
    return status ? status : event_losses(r, loss, e);
}

/* == The end ============================================================== */

void outputs_end(Run *r, bool worked) {
    if (!r->outputs) return;
    progress_close(&r->outputs->progress);
    run_end(r, worked);
    run_routes_end(r);
}

int outputs_lost(const Run *r, Error *e) {
    const Error *lost = r->outputs ? &r->outputs->progress.lost : NULL;
    if (!lost || !lost->status) return STATUS_OK;
    return error_set(e, lost->status, "%s; the run is done and %s is written", lost->text, r->out);
}

void outputs_close(Run *r) {
    Outputs *o = r->outputs;
    if (!o) return;
    train_log_close(&o->log);
    event_file_close(&o->events);
    progress_close(&o->progress);
    free(o->best);
    free(o->before);
}
