/* SPDX-License-Identifier: MIT
** strata compare: variants side by side, the first one is the baseline.  Plans and
** compiles every spec, times and trains the programs if asked to; what the numbers are and
** how they are shown is in report/.
*/
#include "command.h"
#include "compare_specs.h"
#include "comparison.h"
#include "console.h"
#include "files.h"
#include "machine_rates.h"
#include "publish.h"
#include "shell.h"
#include "workshop.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct CompareOptions {
    SpecWords specs;
    const char *output, *cpu, *init, *keep; /* or NULL */
    double rate[COMPARE_RATES];
    int rates;
    DataWords data, val; /* without words: not given */
    bool json, measure;
    int64_t rounds, steps, threads; /* steps, threads 0: not given */
    uint64_t seed[COMPARE_SEEDS];
    int seeds;
} CompareOptions;

/* == The command line ===================================================== */

static bool has_seed(const CompareOptions *o, uint64_t seed) {
    for (int i = 0; i < o->seeds; i++)
        if (o->seed[i] == seed) return true;
    return false;
}

static int set_seeds(CompareOptions *o, const char *value, Error *e) {
    o->seeds = 0;
    for (const char *at = value; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        char word[32];
        uint64_t seed;
        size_t n = strcspn(at, ",");
        print_text(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), at);
        if (n >= sizeof word || !parse_uint64(word, &seed) || has_seed(o, seed)
            || o->seeds == COMPARE_SEEDS)
            return error_set(e, STATUS_USAGE,
                             "strata compare: --seeds: expected %d different whole numbers at "
                             "most, with commas, found '%s'",
                             COMPARE_SEEDS, value);
        o->seed[o->seeds++] = seed;
    }
    return STATUS_OK;
}

static int bad_rates(const char *value, Error *e) {
    return error_set(
        e, STATUS_USAGE,
        "strata compare: --sweep: expected lr=X,..., two to %d different numbers above "
        "0, found '%s'; values of a spec's options are variants: SPEC:NAME=VALUE",
        COMPARE_RATES, value);
}

/* "lr=1e-3,2e-3" */
static int set_rates(CompareOptions *o, const char *value, Error *e) {
    if (strncmp(value, "lr=", 3) != 0) return bad_rates(value, e);
    for (const char *at = value + 3; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        char word[32];
        double rate;
        size_t n = strcspn(at, ",");
        print_text(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), at);
        bool good = n < sizeof word && parse_double(word, 1e-30, 1e6, &rate)
            && o->rates < COMPARE_RATES;
        for (int i = 0; good && i < o->rates; i++)
            good = o->rate[i] != rate;
        if (!good) return bad_rates(value, e);
        o->rate[o->rates++] = rate;
    }
    return o->rates < 2 ? bad_rates(value, e) : STATUS_OK;
}

/* Options that say something about others that are not there. */
static int check_together(const CompareOptions *o, Error *e) {
    static const char *const needs_train[] = { "--steps", "--seeds", "--val",
                                               "--init",  "--keep",  "--sweep" };
    const bool given[] = { o->steps > 0,    o->seeds > 0,    o->val.words > 0,
                           o->init != NULL, o->keep != NULL, o->rates > 0 };
    if (o->threads && !o->measure && !o->data.words)
        return error_set(
            e, STATUS_USAGE,
            "strata compare: --threads: expected --measure or --train with it, found neither");
    for (int i = 0; i < 6; i++)
        if (given[i] && !o->data.words)
            return error_set(e, STATUS_USAGE,
                             "strata compare: %s: expected --train with it, found none",
                             needs_train[i]);
    if (o->data.words && !o->steps)
        return error_set(e, STATUS_USAGE,
                         "strata compare: --train: expected --steps with it, found none");
    return STATUS_OK;
}

static DataWords take_words(const Options *o, int option, const char *name) {
    const OptionValue *v = option_of(o, option);
    return (DataWords){ name, v->list, v->length, option_of(o, STRATA_OPTION_FIELD)->text };
}

static int take(CompareOptions *to, const Options *o, Error *e) {
    const char *seeds = option_of(o, STRATA_OPTION_SEEDS)->text;
    *to = (CompareOptions){
        .output = option_of(o, STRATA_OPTION_PAGE)->text,
        .cpu = option_of(o, STRATA_OPTION_OTHER_CPU)->text,
        .init = option_of(o, STRATA_OPTION_INIT_WEIGHTS)->text,
        .keep = option_of(o, STRATA_OPTION_KEEP_RUNS)->text,
        .data = take_words(o, STRATA_OPTION_TRAIN, "--train"),
        .val = take_words(o, STRATA_OPTION_VAL, "--val"),
        .json = option_of(o, STRATA_OPTION_JSON_TABLE)->given,
        .measure = option_of(o, STRATA_OPTION_MEASURE)->given,
        .rounds = option_of(o, STRATA_OPTION_ROUNDS)->count,
        .steps = option_of(o, STRATA_OPTION_STEPS)->count,
        .threads = option_of(o, STRATA_OPTION_THREADS)->count,
    };
    const char *sweep = option_of(o, STRATA_OPTION_SWEEP)->text;
    int status = seeds ? set_seeds(to, seeds, e) : STATUS_OK;
    if (!status && sweep) status = set_rates(to, sweep, e);
    if (!status) status = spec_words_read(&to->specs, o, e);
    if (!status && option_of(o, STRATA_OPTION_ROUNDS)->given && !to->measure)
        return error_set(e, STATUS_USAGE,
                         "strata compare: --rounds: expected --measure with it, found none");
    return status ? status : check_together(to, e);
}

static void add_command(Text *t, const Options *o) {
    text_add(t, "strata compare");
    for (int i = 0; i < o->argc; i++)
        text_add(t, " "), text_shell_word(t, o->argv[i]);
}

/* == The work ============================================================= */

/* What programs would refuse after everything was compiled. */
static int check_words(const DataWords *w, bool weights, Error *e) {
    DataFiles f;
    int status = w->words ? data_files_open(&f, w, e) : STATUS_OK;
    if (status || !w->words) return status;
    if (!weights) status = data_files_unweighted(&f, e);
    data_files_free(&f);
    return status;
}

static int make_folder(const char *path, Error *e) {
    struct stat s;
    if (!mkdir(path, 0777)) return STATUS_OK;
    if (errno == EEXIST && !stat(path, &s) && !S_ISDIR(s.st_mode))
        return error_set(e, STATUS_USER,
                         "strata compare: --keep: expected a folder, found '%s', which is none",
                         path);
    if (errno == EEXIST && !access(path, W_OK)) return STATUS_OK;
    return error_errno(e, path, "make a folder", errno);
}

static int check(const CompareOptions *o, Error *e) {
    int status = check_words(&o->data, true, e);
    if (!status && o->keep) status = make_folder(o->keep, e);
    if (!status) status = check_words(&o->val, false, e);
    for (int i = 0; !status && o->output && i < o->specs.n; i++)
        status = publish_check(o->specs.spec[i].path, o->output, NULL, e);
    return status;
}

static int plan(const CompareOptions *o, Comparison *c, Allowance *a, Error *e) {
    const SpecLimits limits = allowance_limits(a);
    const Rates rates = machine_rates();
    const ReportOptions r = {
        .limits = &limits, .cpu = o->cpu, .passes.step = allowance_step(a), .rates = &rates
    };
    return spec_words_plan(&o->specs, &r, c, a, e);
}

static void ask(const CompareOptions *o, Comparison *c) {
    static const uint64_t one = 1;
    c->rounds = o->measure ? (int)o->rounds : 0;
    c->threads = (int)o->threads;
    c->text = o->data.words ? o->data.word[0] : NULL;
    c->init = o->init;
    c->rates = o->rates;
    memcpy(c->rate, o->rate, sizeof c->rate);
    c->mixing = c->text && (o->output || o->json);
    c->steps = (int)o->steps;
    c->seeds = o->seeds ? o->seeds : c->text ? 1 : 0;
    c->seed = o->seeds ? o->seed : &one;
    c->columns = isatty(STDOUT_FILENO) ? console_columns(STDOUT_FILENO) : 0;
}

static int run_programs(const CompareOptions *o, Comparison *c, Allowance *a, Error *e) {
    Workshop w;
    int status = workshop_open(&w, a, e);
    if (status) return status;
    for (int i = 0; !status && i < c->n; i++)
        status = workshop_build(&w, c, i, o->cpu, e);
    for (int i = 0; !status && o->output && i < c->n; i++)
        status = workshop_assembly(&w, c, i, o->cpu, e);
    if (!status && o->measure) status = workshop_measure(&w, c, e);
    const TrainAsked asked = { &o->data, &o->val, o->keep, o->cpu };
    if (!status && c->text) status = workshop_train(&w, c, &asked, e);
    workshop_close(&w);
    return status;
}

static int write_page(const CompareOptions *o, const Comparison *c, Error *e) {
    Text t = { 0 };
    compare_html(c, &t);
    int status = text_status(&t, e);
    if (!status) status = publish_text(o->output, &t, e);
    text_free(&t);
    return status;
}

static int write_table(const CompareOptions *o, const Comparison *c, Error *e) {
    Text t = { 0 };
    if (o->json) compare_json(c, &t);
    else compare_text(c, &t);
    return o->json ? console_text(&t, e) : console_lines(&t, e);
}

int command_compare(const Options *given, Allowance *a, Error *e) {
    CompareOptions o = { 0 };
    Comparison c = { 0 };
    Text command = { 0 };
    int status = take(&o, given, e);
    if (!status) status = check(&o, e);
    if (!status) add_command(&command, given), status = text_status(&command, e);
    c.command = command.at;
    ask(&o, &c);
    if (!status) compare_look_around(&c, &o.data, &o.val);
    if (!status) status = plan(&o, &c, a, e);
    if (o.data.words)
        print_text(a->notes->stopped, sizeof a->notes->stopped, "%s",
                   o.keep ? "the same command goes on where it was"
                          : "nothing of it is kept, as with '--keep DIR' it would be");
    if (!status) status = run_programs(&o, &c, a, e);
    compare_look_back(&c);
    allowance_spec(a, "strata compare");
    step_note(allowance_step(a), 0, "what is shown of it");
    if (!status && o.output) doing(a, "writing %s", o.output), status = write_page(&o, &c, e);
    doing_end(a);
    if (!status) status = write_table(&o, &c, e);
    compare_free(&c);
    spec_words_free(&o.specs);
    text_free(&command);
    return status;
}
