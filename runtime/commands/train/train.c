/* SPDX-License-Identifier: MIT
** The training loop.  A step runs micro-batches forward and backward, sums over ranks, computes
** the norm of all gradients, and runs the optimizer; then come the log, an evaluation if it is
** due, and a checkpoint if it is due.  Everything in a step is a function of the checkpoint before
** it, so a run that stopped anywhere continues with the same bits.  Signals are blocked and
** checked between steps: there is no handler, and no moment at which a signal could damage a file.
*/
#include "train.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "commands.h"
#include "evaluate.h"
#include "machine.h"
#include "ranks.h"

static const int train_stops[] = { SIGINT, SIGTERM, SIGHUP };

static void hold_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < 3; i++)
        sigaddset(&set, train_stops[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* nohup: a terminal that goes away is to be survived. */
static bool survives_hangup(void) {
    struct sigaction how;
    return sigaction(SIGHUP, NULL, &how) == 0 && how.sa_handler == SIG_IGN;
}

/* The signal that asks to stop, or 0. */
static int stop_signal(void) {
    sigset_t pending;
    sigpending(&pending);
    for (int i = 0; i < 3; i++)
        if (sigismember(&pending, train_stops[i]) == 1
            && !(train_stops[i] == SIGHUP && survives_hangup()))
            return train_stops[i];
    return 0;
}

static int update(Run *r, const TrainStep *x, Error *e) {
    Session *s = &r->s;
    double clip = s->m->clip, scale = clip > 0 ? fmin(1, clip / (x->grad_norm + 1e-6)) : 1;
    return session_update(s, s->ctx.at, x->lr, scale, x->step, e);
}

/* With minutes, by when the step will end, as far as steps before it tell the rank that writes; the
** last one leaves time for the evaluation after it. */
static int train_rate(Run *r, int64_t step, double *lr, Error *e) {
    const Checkpoint *c = &r->state;
    if (c->minutes == 0) return *lr = schedule_rate(c, step), STATUS_OK;
    double step_seconds = r->outputs ? r->outputs->progress.seconds : 0,
           end = machine_now() - r->start + step_seconds + r->evaluating;
    r->share = fmin(1, end / (60 * c->minutes));
    int status = ranks_agree(program_reducer(r->p), &r->share, 1, e);
    *lr = schedule_rate_by_time(c, r->share);
    return status;
}

/* The minutes that went by, and all of them with the last step. */
static void note_minutes(Run *r) {
    Checkpoint *c = &r->state;
    double all = 60 * c->minutes, now = machine_now() - r->start;
    if (c->minutes > 0) c->elapsed = r->share < 1 && now < all ? now : all;
}

/* What a rank must not decide by its own clock and signals: the first one's clock counts, and a
** signal to any stops all. */
static int agree(Run *r, int *stop, Error *e) {
    const strata_reducer *reducer = program_reducer(r->p);
    double x[4] = { rank_writes(reducer) ? r->state.elapsed : 0 };
    if (!reducer) return STATUS_OK;
    for (int i = 0; i < 3; i++)
        x[1 + i] = *stop == train_stops[i];
    int status = ranks_sum(reducer, x, 4, e);
    r->state.elapsed = x[0];
    *stop = 0;
    for (int i = 0; i < 3 && !*stop; i++)
        if (x[1 + i] > 0) *stop = train_stops[i];
    return status;
}

static int train_step(Run *r, TrainStep *x, Error *e) {
    Session *s = &r->s;
    double start = machine_now(), squares = 0;
    *x = (TrainStep){ .step = r->state.step + 1 };
    int status = train_rate(r, x->step, &x->lr, e);
    if (!status) status = run_gradients(r, x, e);
    if (!status && !isfinite(x->loss)) return run_diverged(r, x->step, "loss", x->loss, e);
    if (!status)
        status = session_check(
            s, s->api->sum_squares(s->ctx.at, s->train.at, 0, s->m->gradients, &squares),
            "sum_squares", e);
    if (!status && !isfinite(squares)) return run_diverged(r, x->step, "gradient", squares, e);
    x->grad_norm = sqrt(squares);
    if (!status) status = update(r, x, e);
    int64_t tokens = r->order.rows * r->order.context;
    x->seconds = machine_now() - start;
    x->tokens_per_second = (double)tokens / x->seconds;
    if (!status) {
        r->state.step = x->step;
        r->state.position += tokens;
        note_minutes(r);
        run_routes_step(r, x);
    }
    x->epoch = r->epochs;
    x->sources = r->data.sources;
    for (int i = 0; i < x->sources; i++)
        r->epochs[i] = data_epochs(&r->data, &r->order, i, r->state.step);
    return status;
}

/* How many tokens an evaluation takes at most; 0: all. With --val-tokens the first and the last
** one, which are compared, take all, but no more than the run trains on. */
static int64_t val_tokens(const Run *r) {
    const Checkpoint *c = &r->state;
    int64_t most = option(r->p, OPTION_VAL_TOKENS)->count,
            run = r->order.rows * r->order.context * (c->minutes > 0 ? c->step : c->steps);
    if (!most || (c->step > 0 && !checkpoint_done(c))) return most;
    return run > most ? run : most;
}

/* Each source of --val, and all their tokens together. */
static int evaluate_sources(Run *r, Evaluation *all, Error *e) {
    const Checkpoint *c = &r->state;
    int status = STATUS_OK;
    int64_t most = val_tokens(r);
    double share = (double)most / (double)data_count(&r->val);
    *all = (Evaluation){ 0 };
    for (int i = 0; !status && i < r->val.sources; i++) {
        Evaluation v;
        int64_t part = most ? 1 + (int64_t)(share * (double)r->val.source[i].count) : 0;
        const EvaluationPlan plan = { .source = i,
                                      .length = c->context,
                                      .batch = c->batch,
                                      .most = part,
                                      .reducer = program_reducer(r->p) };
        status = evaluate(&r->s, &r->val, &plan, &v, e);
        r->val_loss[i] = evaluation_loss(&v);
        all->nll += v.nll;
        all->training_nll += v.training_nll;
        all->tokens += v.tokens;
    }
    return status;
}

static int evaluation(Run *r, Error *e) {
    Evaluation v;
    Checkpoint *c = &r->state;
    double start = machine_now();
    int status = evaluate_sources(r, &v, e);
    r->evaluating = fmax(r->evaluating, machine_now() - start);
    if (status) return status;
    double loss = evaluation_loss(&v);
    if (!isfinite(loss)) return run_diverged(r, c->step, "validation loss", loss, e);
    bool best = !c->has_best || loss < c->best_val_loss;
    if (best) {
        c->has_best = true;
        c->best_val_loss = loss;
        c->best_step = c->step;
    }
    return outputs_evaluation(r, loss, evaluation_training_loss(&v), best, e);
}

/* After a step: log, evaluation, checkpoint (always after the last). */
static int conclude(Run *r, const TrainStep *x, bool last, Error *e) {
    const Checkpoint *c = &r->state;
    int status = outputs_step(r, x, e);
    bool due = r->evaluates && (c->step % c->eval_every == 0 || checkpoint_done(c));
    if (!status && due) status = evaluation(r, e);
    /* the log failed: the work so far need not be lost */
    if (status && status != STATUS_DIVERGED) {
        run_save(r, NULL);
        return status;
    }
    if (!status && (c->step % option(r->p, OPTION_SAVE_EVERY)->count == 0 || last))
        status = run_save(r, e);
    return status;
}

/* *stop: the signal that ended it, or 0. */
static int loop(Run *r, int *stop, Error *e) {
    hold_signals();
    *stop = 0;
    int64_t begun = r->state.step;
    int status = r->state.step == 0 && checkpoint_done(&r->state) ? run_save(r, e) : STATUS_OK;
    /* what weights that were taken are worth, before the first step */
    if (!status && !begun && r->evaluates && r->init.taken) status = evaluation(r, e);
    while (!status && !*stop && !checkpoint_done(&r->state)) {
        TrainStep x;
        status = train_step(r, &x, e);
        *stop = stop_signal();
        if (!status) status = agree(r, stop, e);
        /* a file of the data failed: the work so far need not be lost */
        if ((status == STATUS_IO || status == STATUS_USER) && r->state.step > begun)
            run_save(r, NULL);
        if (!status) status = conclude(r, &x, *stop || checkpoint_done(&r->state), e);
    }
    return status;
}

static int train(Run *r, Error *e) {
    int status = run_open(r, e);
    if (status) return status;
    if (option(r->p, OPTION_DRY_RUN)->given) {
        run_settings(r->p, NULL, &r->state);
        return r->outputs ? run_memory(r->p, &r->s, &r->state, e) : STATUS_OK;
    }
    outputs_start(r);
    int stop;
    int64_t begun = r->state.step;
    status = loop(r, &stop, e);
    if (status) return status;
    outputs_end(r, r->state.step > begun);
    return stop ? 128 + stop : STATUS_OK;
}

int command_train(const Program *p, Error *e) {
    Outputs outputs = { .log.fd = -1, .events.fd = -1 };
    Run r = { .p = p, .outputs = rank_writes(program_reducer(p)) ? &outputs : NULL };
    int status = train(&r, e);
    if (!status) status = outputs_lost(&r, e);
    run_close(&r);
    return status;
}
