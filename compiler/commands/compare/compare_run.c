/* SPDX-License-Identifier: MIT
** One training run of a comparison.  The names of its files identify it among all others: they
** depend on the model, the data for training and evaluation, and a few options.
*/
#include "compare_runs.h"

#include "hash.h"
#include "safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVALUATIONS = 20, SAVES = 10 };

/* Of what was trained on since the last evaluation the next one takes a part: as a forward pass
** costs a third of a step, all of them take a twentieth of the training. */
enum { VAL_PART = 8 };

static int64_t eval_every(const Comparison *c) {
    return c->steps > EVALUATIONS ? c->steps / EVALUATIONS : 1;
}

static int64_t val_tokens(const Comparison *c, const Model *m) {
    int64_t tokens = eval_every(c) * m->train.batch * m->context / VAL_PART;
    return tokens > 0 ? tokens : 1;
}

/* == Its name ============================================================= */

static void hash_run(const Trainer *t, const RunPlan *p, char key[65]) {
    const Model *m = t->c->variant[p->variant].report->model;
    char text[512], lr[32];
    Sha256 s;
    const char *blas = t->c->variant[p->variant].blas;
    int n = print_text(text, sizeof text, "%s %s %s %s %d %llu %s %lld %s%s%s",
                       t->model[p->variant], t->data, t->val, t->init, t->c->steps,
                       (unsigned long long)p->seed, print_double(lr, p->lr),
                       (long long)val_tokens(t->c, m), t->asked->cpu ? t->asked->cpu : "",
                       blas ? " " : "", blas ? blas : "");
    sha256_start(&s);
    sha256_add(&s, text, (size_t)n);
    sha256_text(&s, key);
}

RunPlan run_plan(const Trainer *t, int variant, uint64_t seed, double lr) {
    RunPlan p = { .variant = variant, .seed = seed, .lr = lr };
    const char *folder = t->asked->keep ? t->asked->keep : t->w->folder.path;
    char key[65], name[41];
    print_text(name, sizeof name, "%s", t->c->variant[variant].report->model->name);
    for (char *c = name; *c; c++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", *c))
            *c = '_';
    hash_run(t, &p, key);
    print_text(p.base, sizeof p.base, "%s/%s-%llu-%.16s", folder, name, (unsigned long long)seed,
               key);
    return p;
}

/* == Recognising it ======================================================= */

/* The step that its weights are of; -1: there are none. */
static int64_t step_of(const RunPlan *p) {
    char path[WORKSHOP_PATH];
    Safetensors s;
    int64_t step;
    run_path(p, "safetensors", path);
    if (safetensors_open(&s, path, NULL)) return -1;
    const char *told = safetensors_metadata(&s, "step");
    bool known = told && parse_int64(told, 0, INT64_MAX, &step);
    safetensors_close(&s);
    return known ? step : -1;
}

/* The log of a whole run is enough for what it tells, so that a comparison may go on elsewhere
** without the weights; weights of fewer steps say that the run was begun again. */
bool run_is_kept(const Trainer *t, const RunPlan *p, TrainRun *r) {
    char path[WORKSHOP_PATH];
    Error e = { 0 };
    if (!t->asked->keep) return false;
    int64_t step = step_of(p);
    run_path(p, "jsonl", path);
    return (step < 0 || step == t->c->steps) && !run_log_read(t->c, r, path, &e)
        && run_log_ends(t->c, r);
}

/* == Making it ============================================================ */

/* Words of a command line; what they point to stays the caller's. */
typedef struct Words {
    char **word;
    int n;
    char number[6][32];
    char log[WORKSHOP_PATH], out[WORKSHOP_PATH], program[WORKSHOP_PATH];
    Text changed; /* options that the command line chooses, which weights may have had otherwise */
} Words;
enum { WORDS_MOST = 40 }; /* but for those of data */

static void compare_run_add(Words *w, const char *name, const char *value) {
    w->word[w->n++] = (char *)name;
    if (value) w->word[w->n++] = (char *)value;
}

static void run_add_number(Words *w, int place, const char *name, double value) {
    compare_run_add(w, name, print_double(w->number[place], value));
}

static void add_data(Words *w, const char *name, const DataWords *d) {
    compare_run_add(w, name, NULL);
    for (int i = 0; i < d->words; i++)
        compare_run_add(w, d->word[i], NULL);
}

/* Variants that begin with the same weights differ in options on purpose. */
static void add_init(const Trainer *t, const RunPlan *p, Words *w) {
    const Model *m = t->c->variant[p->variant].report->model;
    compare_run_add(w, "--init", t->c->init);
    for (int i = 0; i < m->noption; i++)
        if (m->option[i].chosen)
            text_add(&w->changed, "%s%s", w->changed.length ? "," : "", m->option[i].name);
    if (w->changed.length) compare_run_add(w, "--changed", w->changed.at);
}

static void add_files(const Trainer *t, const RunPlan *p, bool resume, Words *w) {
    const TrainAsked *x = t->asked;
    workshop_path(t->w, p->variant, "", w->program);
    run_path(p, "jsonl", w->log);
    run_path(p, "safetensors", w->out);
    compare_run_add(w, w->program, "train"), compare_run_add(w, "--log", w->log),
        compare_run_add(w, "--out", w->out);
    compare_run_add(w, resume ? "--resume" : "--overwrite", NULL);
    if (t->c->init && !resume) add_init(t, p, w);
    if (strcmp(x->data->field, "text") != 0) compare_run_add(w, "--field", x->data->field);
    add_data(w, "--data", x->data);
    if (x->val->words) add_data(w, "--val", x->val);
}

static int open_words(const Trainer *t, const RunPlan *p, bool resume, Words *w, Error *e) {
    const Comparison *c = t->c;
    const TrainAsked *x = t->asked;
    const Model *m = c->variant[p->variant].report->model;
    size_t room = WORDS_MOST + (size_t)x->data->words + (size_t)x->val->words;
    int64_t saves = x->keep && c->steps > SAVES ? c->steps / SAVES : c->steps;
    w->word = calloc(room, sizeof *w->word);
    if (!w->word) return error_memory(e, "strata compare", room * sizeof *w->word);
    add_files(t, p, resume, w);
    print_text(w->number[0], 32, "%d", c->steps);
    print_text(w->number[1], 32, "%llu", (unsigned long long)p->seed);
    compare_run_add(w, "--steps", w->number[0]), compare_run_add(w, "--seed", w->number[1]);
    if (!x->val->words) run_add_number(w, 2, "--val-share", TRAIN_VAL_SHARE);
    if (p->lr > 0) run_add_number(w, 3, "--lr", p->lr);
    print_text(w->number[4], 32, "--eval-every=%lld", (long long)eval_every(c));
    print_text(w->number[5], 32, "--save-every=%lld", (long long)saves);
    compare_run_add(w, w->number[4], w->number[5]);
    (void)m;
    return STATUS_OK;
}

/* After as many steps as its weights are of; 0: anew. */
static int run_start(Trainer *t, const RunPlan *p, int64_t after, Error *e) {
    Words w = { 0 };
    Text said = { 0 };
    RunWatch watch;
    char tokens[48], threads[48];
    int status = open_words(t, p, after > 0, &w, e);
    if (status) return status;
    print_text(tokens, sizeof tokens, "--val-tokens=%lld",
               (long long)val_tokens(t->c, t->c->variant[p->variant].report->model));
    print_text(threads, sizeof threads, "--threads=%d", t->c->threads);
    compare_run_add(&w, tokens, "--weights-only"), compare_run_add(&w, "--no-best", "--quiet");
    if (t->c->threads) compare_run_add(&w, threads, NULL);
    watch_begin(&watch, t, p, after);
    status = workshop_run(t->w, t->c, p->variant, w.word, &(ProcessTick){ watch_tell, &watch },
                          &said, e);
    if (!status) t->steps += t->c->steps - after;
    text_free(&said), text_free(&w.changed);
    free(w.word);
    return status;
}

/* What was saved of it is taken up; if that is no use, it begins anew. */
static int go_on(Trainer *t, const RunPlan *p, Error *e) {
    Error first = { 0 };
    int64_t after = t->asked->keep ? step_of(p) : 0;
    if (after > t->c->steps)
        return error_set(e, STATUS_USER,
                         "%s.safetensors: expected at most the %d steps of this comparison, found "
                         "step %lld: another --keep, or without that file",
                         p->base, t->c->steps, (long long)after);
    int status = after > 0 ? run_start(t, p, after, &first) : STATUS_USER;
    if (status == STATUS_USER) return run_start(t, p, 0, e);
    return status ? error_set(e, status, "%s", first.text) : STATUS_OK;
}

int run_make(Trainer *t, const RunPlan *p, TrainRun *r, Error *e) {
    char log[WORKSHOP_PATH], before[WORKSHOP_PATH];
    int status = run_room(t->c, r, e);
    if (status || run_is_kept(t, p, r)) return status;
    run_free(r);
    status = run_room(t->c, r, e);
    if (!status) status = go_on(t, p, e);
    run_path(p, "jsonl", log);
    if (!status) status = run_log_read(t->c, r, log, e);
    if (!status && !run_log_ends(t->c, r))
        status = error_set(e, STATUS_INTERNAL,
                           "%s: expected a log of %d steps with evaluations, found fewer", log,
                           t->c->steps);
    run_path(p, "safetensors.prev", before);
    if (!status) unlink(before), t->done++;
    return status;
}
