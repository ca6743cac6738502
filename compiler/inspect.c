/* strata inspect: what the compiler makes of a spec, without compiling it. */
#include "command.h"
#include "console.h"
#include "publish.h"
#include "report.h"

#include <string.h>

const Flag inspect_flags[] = {
    { "--cost", NULL, "FLOPs and bytes by kind of kernel, and what depth reads move" },
    { "--json", NULL, "for programs" },
    { "--inference", NULL, "without training" },
    { "--cpu", "NAME", "kernels for that processor, as build takes it (native)" },
    { "-o", "FILE", "written there instead" },
    { NULL, NULL, NULL },
};

typedef struct Options {
    const char *spec, *output;
    ReportOptions report;
    View view;
    const char *flag;           /* that asked for the view; NULL: none did */
    bool json;
} Options;

static const struct { const char *flag; View view; } views[] = {
    { "--cost", VIEW_COST },
};

static int set_view(Options *o, View v, const char *flag, Error *e) {
    if (o->flag && o->view != v) return error_set(e, STATUS_USAGE, "strata inspect: expected one view, found %s and %s", o->flag, flag);
    o->view = v;
    o->flag = flag;
    return STATUS_OK;
}

static int set(Options *o, const char *name, const char *value, Error *e) {
    if (!strcmp(name, "--json")) o->json = true;
    else if (!strcmp(name, "--inference")) o->report.inference = true;
    else if (!strcmp(name, "--cpu")) o->report.cpu = value;
    else if (!strcmp(name, "-o")) o->output = value;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (!strcmp(name, views[i].flag)) return set_view(o, views[i].view, views[i].flag, e);
    return STATUS_OK;
}

static int parse(Options *o, int argc, char **argv, Error *e) {
    const Command c = { .name = "inspect", .flags = inspect_flags };
    *o = (Options){ 0 };
    for (int i = 1; i < argc; i++) {
        const Flag *flag;
        const char *value;
        int status = STATUS_OK;
        if (argv[i][0] == '-' && argv[i][1]) {
            status = flag_parse(&c, argc, argv, &i, &flag, &value, e);
            if (!status) status = set(o, flag->name, value, e);
        } else if (o->spec) {
            status = error_set(e, STATUS_USAGE, "strata inspect: expected one spec, found '%s' too", argv[i]);
        } else {
            o->spec = argv[i];
        }
        if (status) return status;
    }
    return o->spec ? STATUS_OK : error_set(e, STATUS_USAGE, "strata inspect: expected a spec, found nothing");
}

static void write_view(const Report *r, const Options *o, Text *t) {
    if (o->json) report_json(r, t);
    else if (o->view == VIEW_COST) report_cost_text(r, t);
    else report_text(r, t);
}

int command_inspect(int argc, char **argv, Error *e) {
    Options o;
    int status = parse(&o, argc, argv, e);
    if (!status && o.output) status = publish_check(o.spec, o.output, NULL, e);
    Report *r = status ? NULL : report_new(o.spec, &o.report, e);
    if (!r) return e->status;
    Text t = { 0 };
    write_view(r, &o, &t);
    report_free(r);
    if (!o.output) return console_text(&t, e);
    status = text_status(&t, e);
    if (!status) status = publish_text(o.output, &t, e);
    text_free(&t);
    return status;
}
