/*
** strata compare: variants side by side, the first one is the baseline.  Plans and
** compiles every spec, times and trains the programs if asked to; what the numbers are and
** how they are shown is in report/.
*/
#include "command.h"
#include "comparison.h"
#include "console.h"
#include "files.h"
#include "publish.h"
#include "workshop.h"

#include <math.h>
#include <string.h>

const Flag compare_flags[] = {
    { "--measure", NULL, "times training steps, the variants in turns" },
    { "--rounds", "N", "with --measure: rounds of a few steps each (7)" },
    { "--train", "TEXT", "trains every variant on a text and compares losses; needs --steps" },
    { "--steps", "N", "with --train: steps of a run" },
    { "--seeds", "A,B,...", "with --train: a run of each variant from each seed (1)" },
    { "--val", "FILE", "with --train: text to evaluate on (the last tenth of TEXT)" },
    { "--threads", "N", "of the programs that are measured or trained (the processors there are)" },
    { "-o", "FILE", "an HTML page too, with pictures; nothing but this file is needed to read it" },
    { "--json", NULL, "for programs, instead of the table" },
    { "--cpu", "NAME", "kernels for that processor, as build takes it (native)" },
    { NULL, NULL, NULL },
};

enum { ROUNDS = 1000, STEPS = 1000000, THREADS = 1024 };

typedef struct Options {
    const char *spec[COMPARE_MOST];
    int n;
    const char *output, *cpu, *text, *val;
    bool json, measure;
    int64_t rounds, steps, threads; /* 0: not given */
    uint64_t seed[COMPARE_SEEDS];
    int seeds;
} Options;

/* == The command line ===================================================== */

static int set_count(const char *name, const char *value, int64_t most, int64_t *out, Error *e) {
    if (parse_int64(value, 1, most, out)) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "strata compare: %s: expected a whole number from 1 to %lld, found '%s'", name,
                     (long long)most, value);
}

static bool has_seed(const Options *o, uint64_t seed) {
    for (int i = 0; i < o->seeds; i++)
        if (o->seed[i] == seed) return true;
    return false;
}

static int set_seeds(Options *o, const char *value, Error *e) {
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

static int set(Options *o, const char *name, const char *value, Error *e) {
    if (!strcmp(name, "--json")) o->json = true;
    else if (!strcmp(name, "--measure")) o->measure = true;
    else if (!strcmp(name, "--cpu")) o->cpu = value;
    else if (!strcmp(name, "--train")) o->text = value;
    else if (!strcmp(name, "--val")) o->val = value;
    else if (!strcmp(name, "--rounds")) return set_count(name, value, ROUNDS, &o->rounds, e);
    else if (!strcmp(name, "--steps")) return set_count(name, value, STEPS, &o->steps, e);
    else if (!strcmp(name, "--threads")) return set_count(name, value, THREADS, &o->threads, e);
    else if (!strcmp(name, "--seeds")) return set_seeds(o, value, e);
    else o->output = value;
    return STATUS_OK;
}

/* Options that say something about others that are not there. */
static int check_together(const Options *o, Error *e) {
    static const char *const needs_train[] = { "--steps", "--seeds", "--val" };
    const bool given[] = { o->steps > 0, o->seeds > 0, o->val != NULL };
    if (o->rounds && !o->measure)
        return error_set(e, STATUS_USAGE,
                         "strata compare: --rounds: expected --measure with it, found none");
    if (o->threads && !o->measure && !o->text)
        return error_set(
            e, STATUS_USAGE,
            "strata compare: --threads: expected --measure or --train with it, found neither");
    for (int i = 0; i < 3; i++)
        if (given[i] && !o->text)
            return error_set(e, STATUS_USAGE,
                             "strata compare: %s: expected --train with it, found none",
                             needs_train[i]);
    if (o->text && !o->steps)
        return error_set(e, STATUS_USAGE,
                         "strata compare: --train: expected --steps with it, found none");
    return STATUS_OK;
}

static int add_spec(Options *o, const char *spec, Error *e) {
    if (o->n == COMPARE_MOST)
        return error_set(e, STATUS_USAGE,
                         "strata compare: expected %d specs at most, found '%s' too", COMPARE_MOST,
                         spec);
    o->spec[o->n++] = spec;
    return STATUS_OK;
}

static int parse(Options *o, int argc, char **argv, Error *e) {
    const Command c = { .name = "compare", .flags = compare_flags };
    *o = (Options){ 0 };
    for (int i = 1; i < argc; i++) {
        const Flag *flag;
        const char *value;
        bool option = argv[i][0] == '-' && argv[i][1];
        int status = option ? flag_parse(&c, argc, argv, &i, &flag, &value, e)
                            : add_spec(o, argv[i], e);
        if (!status && option) status = set(o, flag->name, value, e);
        if (status) return status;
    }
    if (o->n >= 2) return check_together(o, e);
    return error_set(e, STATUS_USAGE,
                     "strata compare: expected two specs or more, the first as baseline, found %s",
                     o->n ? "one" : "none");
}

/* A word as a shell takes it. */
static void add_word(Text *t, const char *word) {
    size_t plain =
        strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%");
    if (*word && !word[plain]) {
        text_add(t, " %s", word);
        return;
    }
    text_add(t, " '");
    for (; *word; word++)
        if (*word == '\'') text_add(t, "'\\''");
        else text_bytes(t, word, 1);
    text_add(t, "'");
}

static void add_command(Text *t, int argc, char **argv) {
    text_add(t, "strata");
    for (int i = 0; i < argc; i++)
        add_word(t, argv[i]);
}

/* == The work ============================================================= */

/* What programs would refuse after everything was compiled. */
static int check_text(const char *path, Error *e) {
    Input in;
    int status = path ? input_open(&in, path, e) : STATUS_OK;
    if (path && !status) input_close(&in);
    return status;
}

static int check(const Options *o, Error *e) {
    int status = check_text(o->text, e);
    if (!status) status = check_text(o->val, e);
    for (int i = 0; !status && o->output && i < o->n; i++)
        status = publish_check(o->spec[i], o->output, NULL, e);
    return status;
}

static int plan(const Options *o, Comparison *c, Error *e) {
    const ReportOptions r = { .cpu = o->cpu };
    for (; c->n < o->n; c->n++) {
        c->variant[c->n] = (Variant){ .report = report_new(o->spec[c->n], &r, e),
                                      .code_bytes = NAN,
                                      .compile_seconds = NAN };
        if (!c->variant[c->n].report) return e->status;
    }
    compare_name(c);
    return STATUS_OK;
}

static void ask(const Options *o, Comparison *c) {
    static const uint64_t one = 1;
    c->rounds = o->measure ? o->rounds ? (int)o->rounds : 7 : 0;
    c->threads = (int)o->threads;
    c->text = o->text;
    c->mixing = o->text && (o->output || o->json);
    c->steps = (int)o->steps;
    c->seeds = o->seeds ? o->seeds : o->text ? 1 : 0;
    c->seed = o->seeds ? o->seed : &one;
}

static int run_programs(const Options *o, Comparison *c, Error *e) {
    Workshop w;
    int status = workshop_open(&w, e);
    if (status) return status;
    for (int i = 0; !status && i < c->n; i++)
        status = workshop_build(&w, c, i, o->cpu, e);
    for (int i = 0; !status && o->output && i < c->n; i++)
        status = workshop_assembly(&w, c, i, o->cpu, e);
    if (!status && o->measure) status = workshop_measure(&w, c, e);
    if (!status && o->text) status = workshop_train(&w, c, o->val, e);
    workshop_close(&w);
    return status;
}

static int write_page(const Options *o, const Comparison *c, Error *e) {
    Text t = { 0 };
    compare_html(c, &t);
    int status = text_status(&t, e);
    if (!status) status = publish_text(o->output, &t, e);
    text_free(&t);
    return status;
}

static int write_table(const Options *o, const Comparison *c, Error *e) {
    Text t = { 0 };
    if (o->json) compare_json(c, &t);
    else compare_text(c, &t);
    return console_text(&t, e);
}

int command_compare(int argc, char **argv, Error *e) {
    Options o;
    Comparison c = { 0 };
    Text command = { 0 };
    int status = parse(&o, argc, argv, e);
    if (!status) status = check(&o, e);
    if (!status) add_command(&command, argc, argv), status = text_status(&command, e);
    c.command = command.at;
    ask(&o, &c);
    if (!status) status = plan(&o, &c, e);
    if (!status) status = run_programs(&o, &c, e);
    if (!status && o.output) status = write_page(&o, &c, e);
    if (!status) status = write_table(&o, &c, e);
    compare_free(&c);
    text_free(&command);
    return status;
}
