/*
** strata compare: variants side by side, the first one is the baseline.  Plans and
** compiles every spec; what the numbers are and how they are shown is in report/.
*/
#include "command.h"
#include "compare.h"
#include "console.h"
#include "publish.h"
#include "workshop.h"

#include <math.h>
#include <string.h>

const Flag compare_flags[] = {
    { "-o", "FILE", "an HTML page too, with pictures; nothing but this file is needed to read it" },
    { "--json", NULL, "for programs, instead of the table" },
    { "--cpu", "NAME", "kernels for that processor, as build takes it (native)" },
    { NULL, NULL, NULL },
};

typedef struct Options {
    const char *spec[COMPARE_MOST];
    int n;
    const char *output, *cpu;
    bool json;
} Options;

/* == The command line ======================================================= */

static int set(Options *o, const char *name, const char *value, Error *e) {
    (void)e;
    if (!strcmp(name, "--json")) o->json = true;
    else if (!strcmp(name, "--cpu")) o->cpu = value;
    else if (!strcmp(name, "-o")) o->output = value;
    return STATUS_OK;
}

static int add_spec(Options *o, const char *spec, Error *e) {
    if (o->n == COMPARE_MOST) return error_set(e, STATUS_USAGE, "strata compare: expected %d specs at most, found '%s' too", COMPARE_MOST, spec);
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
        int status = option ? flag_parse(&c, argc, argv, &i, &flag, &value, e) : add_spec(o, argv[i], e);
        if (!status && option) status = set(o, flag->name, value, e);
        if (status) return status;
    }
    if (o->n >= 2) return STATUS_OK;
    return error_set(e, STATUS_USAGE, "strata compare: expected two specs or more, the first as baseline, found %s", o->n ? "one" : "none");
}

/* A word as a shell takes it. */
static void add_word(Text *t, const char *word) {
    size_t plain = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%");
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
    for (int i = 0; i < argc; i++) add_word(t, argv[i]);
}

/* == The work =============================================================== */

static int check(const Options *o, Error *e) {
    int status = STATUS_OK;
    for (int i = 0; !status && o->output && i < o->n; i++) status = publish_check(o->spec[i], o->output, NULL, e);
    return status;
}

static int plan(const Options *o, Comparison *c, Error *e) {
    const ReportOptions r = { .cpu = o->cpu };
    for (; c->n < o->n; c->n++) {
        c->variant[c->n] = (Variant){ .report = report_new(o->spec[c->n], &r, e), .code_bytes = NAN, .compile_seconds = NAN };
        if (!c->variant[c->n].report) return e->status;
    }
    compare_name(c);
    return STATUS_OK;
}

static int run_programs(const Options *o, Comparison *c, Error *e) {
    Workshop w;
    int status = workshop_open(&w, e);
    if (status) return status;
    for (int i = 0; !status && i < c->n; i++) status = workshop_build(&w, c, i, o->cpu, e);
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
    if (!status) status = plan(&o, &c, e);
    if (!status) status = run_programs(&o, &c, e);
    if (!status && o.output) status = write_page(&o, &c, e);
    if (!status) status = write_table(&o, &c, e);
    compare_free(&c);
    text_free(&command);
    return status;
}
