/* SPDX-License-Identifier: MIT
** Training of a comparison: every variant from every seed.  A seed gives the initial weights and
** the order of the data, so that variants with the same context and batch read the same windows.
** With rates to choose from, each variant tries all of them from the first seed and takes the one
** that ends with the lowest validation loss.
*/
#include "compare_runs.h"

#include "model_identity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* == What it is trained on ================================================ */

static int identify(const DataWords *words, char sha256[65], Error *e) {
    DataFiles f;
    if (!words->words) return STATUS_OK;
    int status = data_files_open(&f, words, e);
    if (status) return status;
    status = data_files_identify(&f, e);
    memcpy(sha256, f.sha256, sizeof f.sha256);
    data_files_free(&f);
    return status;
}

static int identify_all(Trainer *t, Error *e) {
    for (int i = 0; i < t->c->n; i++)
        model_identity(t->c->variant[i].report->model, t->model[i]);
    int status = identify(t->asked->data, t->data, e);
    if (!status) status = identify(t->asked->val, t->val, e);
    if (!status && t->c->init) status = file_identify(t->c->init, t->init, e);
    return status;
}

/* == Runs ================================================================= */

static double last_value(const TrainRun *r) { return r->value[r->evaluations - 1]; }

/* Of one variant from one seed, at a rate of the sweep (or -1: the variant's). */
static RunPlan train_plan(const Trainer *t, int variant, int seed, int rate) {
    double lr = rate < 0 ? t->c->variant[variant].lr : t->c->rate[rate];
    return run_plan(t, variant, t->c->seed[seed], lr);
}

/* One rate from the first seed; the best so far stays.  A run that diverges is worse than any. */
static int try_rate(Trainer *t, int variant, int rate, Error *e) {
    Variant *v = &t->c->variant[variant];
    Error own = { 0 };
    TrainRun r;
    RunPlan p = train_plan(t, variant, 0, rate);
    int status = run_make(t, &p, &r, &own);
    v->swept[rate] = status ? INFINITY : last_value(&r);
    bool best = isfinite(v->swept[rate]) && !(v->best <= v->swept[rate]);
    if (best) {
        run_free(&v->run[0]);
        v->run[0] = r, v->lr = t->c->rate[rate], v->best = v->swept[rate];
    } else {
        run_free(&r);
    }
    if (status && status != STATUS_DIVERGED) return error_set(e, status, "%s", own.text);
    bool none = rate == t->c->rates - 1 && !isfinite(v->best);
    return none ? error_set(e, STATUS_DIVERGED, "%s", own.text) : STATUS_OK;
}

static int train_sweep(Trainer *t, Error *e) {
    int status = STATUS_OK, n = t->c->n;
    for (int i = 0; !status && i < t->c->rates; i++)
        for (int k = 0; !status && k < n; k++)
            status = try_rate(t, i % 2 ? n - 1 - k : k, i, e);
    return status;
}

static int train_take(Trainer *t, int variant, int seed, Error *e) {
    Variant *v = &t->c->variant[variant];
    RunPlan p = train_plan(t, variant, seed, -1);
    return seed == 0 && t->c->rates ? STATUS_OK : run_make(t, &p, &v->run[seed], e);
}

/* How many there are to make, kept ones left out. */
static void count(Trainer *t) {
    int tried = t->c->rates ? t->c->rates : 1;
    t->runs = (int64_t)t->c->n * (tried + t->c->seeds - 1);
    for (int k = 0; k < t->c->n; k++)
        for (int i = 0; t->asked->keep && i < tried + t->c->seeds - 1; i++) {
            TrainRun r;
            bool first = i < tried;
            RunPlan p = train_plan(t, k, first ? 0 : i - tried + 1, first && t->c->rates ? i : -1);
            if (!run_room(t->c, &r, NULL) && run_is_kept(t, &p, &r)) t->runs--;
            run_free(&r);
        }
}

static int open_variants(Comparison *c, Error *e) {
    for (int i = 0; i < c->n; i++) {
        Variant *v = &c->variant[i];
        v->lr = v->best = NAN;
        v->run = calloc((size_t)c->seeds, sizeof *v->run);
        if (!v->run) return error_memory(e, "strata compare", (size_t)c->seeds * sizeof *v->run);
    }
    return STATUS_OK;
}

/* Of the first seed's weights. */
static void mix(const Trainer *t, int variant) {
    const TrainAsked *x = t->asked;
    Variant *v = &t->c->variant[variant];
    RunPlan p = train_plan(t, variant, 0, -1);
    char out[WORKSHOP_PATH];
    run_path(&p, "safetensors", out);
    v->trained = mixing_trained(v->report->model, out,
                                x->val->words ? &(MixingText){ *x->val, 1 }
                                              : &(MixingText){ *x->data, TRAIN_VAL_SHARE },
                                &v->untrained);
}

int workshop_train(const Workshop *w, Comparison *c, const TrainAsked *asked, Error *e) {
    Trainer t = { .w = w, .c = c, .asked = asked };
    c->val_share = asked->val->words ? 0 : TRAIN_VAL_SHARE;
    int status = open_variants(c, e);
    if (!status) status = identify_all(&t, e);
    if (!status) count(&t);
    t.start = watch_now();
    if (!status && c->rates) status = train_sweep(&t, e);
    for (int s = 0; !status && s < c->seeds; s++)
        for (int k = 0; !status && k < c->n; k++)
            status = train_take(&t, s % 2 ? c->n - 1 - k : k, s, e);
    for (int k = 0; !status && c->mixing && k < c->n; k++) {
        doing(w->allowance, "reading the weights of %s, %d of %d", c->variant[k].label, k + 1,
              c->n);
        mix(&t, k);
    }
    return status;
}
