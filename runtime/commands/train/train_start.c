/* SPDX-License-Identifier: MIT
** What a run reports before its first step: on standard output in some lines, in the first line of
** the log, and in event files as a text.
*/
#include "program_tokenizer.h"
#include "train.h"

#include <string.h>

#include "choices.h"
#include "kernel_cost.h"
#include "machine.h"
#include "shell.h"
#include "tuning.h"

/* A name may be longer than a line. */
static void tell_names(Run *r, const char *what, const NameList *l) {
    size_t most = 300;
    int n = (int)(l->few < most ? l->few : most);
    if (l->count > l->told)
        progress_note(&r->outputs->progress, "  %s: %.*s and %d more", what, n, l->text.at,
                      l->count - l->told);
    else if (l->count) progress_note(&r->outputs->progress, "  %s: %.*s", what, n, l->text.at);
}

static void announce_init(Run *r) {
    const WeightsTaken *t = &r->init;
    if (!t->taken) return;
    progress_note(&r->outputs->progress, "%s: %d tensors taken, %d new, %d left over",
                  option(r->p, OPTION_INIT)->text, t->taken, t->fresh.count, t->left.count);
    tell_names(r, "new, with initial values", &t->fresh);
    tell_names(r, "left over, not taken", &t->left);
}

static void announce_tuning(Run *r) {
    TuningGroup g[TUNING_GROUPS];
    char lr[32], decay[32];
    int n = tuning_groups(r->p->m, r->state.lr, g);
    for (int i = 0; n > 1 && i < n; i++) {
        if (g[i].by == STRATA_FROZEN)
            progress_note(&r->outputs->progress, "  frozen: %lld parameters in %d tensors",
                          (long long)g[i].parameters, g[i].tensors);
        else
            progress_note(&r->outputs->progress,
                          "  %s: %lld parameters in %d tensors, lr %s, weight decay %s",
                          tuning_by(g[i].by), (long long)g[i].parameters, g[i].tensors,
                          print_double(lr, g[i].lr), print_double(decay, g[i].weight_decay));
    }
}

static void announce_unknown(Run *r) {
    char twice[TWICE_WORDS], unknown[UNKNOWN_WORDS], stray[STRAY_WORDS];
    const Data *d[] = { &r->text, &r->val };
    const char *name[] = { "the text", "--val" };
    for (int i = 0; i < 2; i++) {
        if (!d[i]->owner) continue;
        if (*data_twice(twice, d[i]))
            progress_warn(&r->outputs->progress, "%s: %s", name[i], twice);
        progress_warn(
            &r->outputs->progress, "%s",
            tokenizer_unknown(unknown, &r->tokenizer, name[i], d[i]->unknown, d[i]->encoded));
        progress_warn(&r->outputs->progress, "%s",
                      tokenizer_stray(stray, &r->tokenizer, name[i], d[i]->stray));
    }
}

void run_announce(Run *r) {
    const strata_model *m = r->p->m;
    const Checkpoint *c = &r->state;
    Progress *g = &r->outputs->progress;
    g->steps = c->steps;
    g->tokens = (double)(r->order.rows * r->order.context);
    g->flops = training_flops(m, (double)(r->sums.count * c->batch), (double)c->context);
    g->peak = !checkpoint_done(c) && !g->quiet ? machine_peak(r->s.pool, machine_multiplier(m)) : 0;
    progress_note(
        g, "%s: %lld parameters; %lld tokens of text; %lld windows of %lld per step; %d threads",
        strata_string(m, m->name), (long long)m->parameters, (long long)data_count(&r->data),
        (long long)r->order.rows, (long long)c->context, r->s.workers);
    announce_unknown(r);
    announce_tuning(r);
    announce_init(r);
    if (r->resumed)
        progress_note(g, "%s: goes on after step %lld%s", r->out, (long long)c->step,
                      r->words.weights_only ? ", and ends in weights alone" : "");
}

/* == The log ============================================================== */

static void log_init(Run *r, Text *t) {
    const WeightsTaken *x = &r->init;
    if (!x->taken) return;
    text_add(t, ", \"init\": {\"file\": ");
    text_json_string(t, option(r->p, OPTION_INIT)->text);
    text_add(t, ", \"taken\": %d, \"new\": [%s], \"left_over\": [%s]}", x->taken,
             x->fresh.count ? x->fresh.text.at : "", x->left.count ? x->left.text.at : "");
}

static void log_tuning(const Run *r, Text *t) {
    TuningGroup g[TUNING_GROUPS];
    int n = tuning_groups(r->p->m, r->state.lr, g);
    text_add(t, ", \"parameters_trained\": %lld", (long long)strata_trained(r->p->m));
    for (int i = 0; i < n; i++) {
        text_add(t, "%s{\"by\": \"%s\", \"tensors\": %d, \"parameters\": %lld",
                 i ? ", " : ", \"groups\": [", tuning_by(g[i].by), g[i].tensors,
                 (long long)g[i].parameters);
        if (g[i].by != STRATA_FROZEN) {
            text_add(t, ", \"lr\": ");
            text_json_number(t, g[i].lr);
            text_add(t, ", \"weight_decay\": ");
            text_json_number(t, g[i].weight_decay);
        }
        text_add(t, "}");
    }
    text_add(t, n ? "]" : "");
}

/* How long the run is to be. */
static void add_length(const Checkpoint *s, Text *t) {
    if (s->minutes > 0) text_add(t, ", \"minutes\": "), text_json_number(t, s->minutes);
    else text_add(t, ", \"steps\": %lld", (long long)s->steps);
}

int run_log(Run *r, Error *e) {
    const strata_model *m = r->p->m;
    Text *t = &r->outputs->log.line;
    text_add(t, "{\"strata\": \"%s\", \"spec\": ", STRATA_VERSION);
    text_json_string(t, strata_string(m, m->name));
    text_add(t, ", \"spec_hash\": \"%016llx\", \"cpu\": ", (unsigned long long)m->spec_hash);
    text_json_string(t, strata_string(m, m->cpu));
    text_add(t, ", \"options\": %s, \"precision\": ", strata_string(m, m->options));
    text_json_string(t, strata_string(m, m->precision));
    text_add(t, ", \"seed\": %llu, \"data_seed\": %llu, \"order\": \"%s\"",
             (unsigned long long)r->state.seed, (unsigned long long)r->state.data_seed,
             r->state.order);
    text_add(t, ", \"run\": \"%s\", \"batch\": %lld, \"accumulate\": %lld, \"context\": %lld",
             r->state.run, (long long)r->state.batch, (long long)r->state.accumulate,
             (long long)r->state.context);
    add_length(&r->state, t);
    text_add(t, ", \"parameters\": %lld, \"threads\": %d, \"data_sha256\": \"%s\", \"blas\": ",
             (long long)m->parameters, r->s.workers, r->state.data_sha256);
    text_json_string(t, program_blas(r->p));
    log_tuning(r, t);
    log_init(r, t);
    text_add(t, "}\n");
    return train_log_line(&r->outputs->log, e);
}

/* == Event files ========================================================== */

static void start_add_command(const Program *p, Text *t) {
    const Options *o = &p->options;
    text_add(t, "command      ");
    text_shell_word(t, p->path);
    text_add(t, " %s", o->table->command[o->command].name);
    for (int i = 0; i < o->argc; i++) {
        text_add(t, " ");
        text_shell_word(t, o->argv[i]);
    }
    text_add(t, "\n");
}

/* Lines as Markdown shows them as they are: each is indented. */
static void add_verbatim(Text *t, const Text *lines) {
    if (lines->failed) t->failed = true;
    for (const char *at = lines->at; at && *at;) {
        size_t n = strcspn(at, "\n");
        text_add(t, "    %.*s\n", (int)n, at);
        at += n + (at[n] == '\n');
    }
}

int run_events(Run *r, Error *e) {
    const strata_model *m = r->p->m;
    Text lines = { 0 }, text = { 0 };
    text_add(&lines, "model        %s, from %s (%016llx), by strata %s\n",
             strata_string(m, m->name), strata_string(m, m->spec_file),
             (unsigned long long)m->spec_hash, STRATA_VERSION);
    choices_line(r->p, &lines);
    start_add_command(r->p, &lines);
    text_add(&lines, "run          %s\nparameters   %lld\ntext         %lld tokens", r->state.run,
             (long long)m->parameters, (long long)data_count(&r->data));
    if (r->evaluates) text_add(&lines, ", validation %lld", (long long)data_count(&r->val));
    add_verbatim(&text, &lines);
    int status = text_status(&text, e);
    if (!status) status = event_file_text(&r->outputs->events, r->state.step, "run", text.at, e);
    text_free(&lines), text_free(&text);
    return status;
}
