/* SPDX-License-Identifier: MIT
** Resuming from a checkpoint: what the run was trained on, how, and how far.
*/
#include "train.h"

#include "trained_options.h"

/* How long it is: as it was, unless the schedule does not care, or all of it is done, after which a
** new one begins. */
static int check_length(Run *r, const Checkpoint *saved, Error *e) {
    Checkpoint *c = &r->state;
    char was[48], is[48];
    if (c->minutes == 0 && saved->step > c->steps)
        return error_set(e, STATUS_USER,
                         "%s: expected --steps of at least the %lld done, found %lld", r->out,
                         (long long)saved->step, (long long)c->steps);
    bool done = checkpoint_done(saved), constant = c->schedule == SCHEDULE_CONSTANT,
         more = done && option(r->p, OPTION_MINUTES)->given;
    if (c->steps == saved->steps && c->minutes == saved->minutes && !more) return STATUS_OK;
    if (!done && !constant)
        return error_set(e, STATUS_USER,
                         "%s: expected %s, which its schedule is for, until they are done (step "
                         "%lld is), found %s",
                         r->out, run_length(saved, was), (long long)saved->step, run_length(c, is));
    if (!constant) c->begun = saved->step;
    c->elapsed = 0;
    return STATUS_OK;
}

static int resume_match(const Run *r, const CheckpointFile *f, Error *e) {
    Checkpoint now = r->state;
    int status = run_words_joined(r, &f->state, &now, e);
    return status ? status : checkpoint_match(f, &now, e);
}

static int take_up(Run *r, const CheckpointFile *f, Error *e) {
    const Checkpoint *saved = &f->state;
    const strata_model *m = r->p->m;
    const ReadingModel own = { .options = strata_string(m, m->options), .goes_on = true };
    run_settings(r->p, saved, &r->state);
    int status = trained_options_check(&f->file, &own, e);
    if (!status) status = run_words(r, saved->words, e);
    if (!status) status = run_texts(r, &f->file, e);
    if (!status) status = resume_match(r, f, e);
    checkpoint_progress(&r->state, saved);
    if (!status) status = check_length(r, saved, e);
    if (!status) status = run_open_memory(r, e);
    return status ? status
                  : checkpoint_read(f, r->p->m, session_write_weights(&r->s), r->s.train.at, e);
}

int run_resume(Run *r, Error *e) {
    CheckpointFile f = { 0 };
    int status = checkpoint_open(&f, r->out, e);
    if (status) return status;
    r->resumed = true;
    if (r->outputs) progress_warn(&r->outputs->progress, "%s", f.note);
    status = take_up(r, &f, e);
    checkpoint_close(&f);
    return status;
}
