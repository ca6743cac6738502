/* strata inspect: what the compiler makes of a spec, without compiling it. */
#include "command.h"
#include "console.h"
#include "publish.h"
#include "report.h"

#include <string.h>

const Flag inspect_flags[] = {
    { "--graph", NULL, "the graph of primitive operations; as a picture, the kernels of a forward pass" },
    { "--kernels", NULL, "every kernel, operation by operation, with the spec's lines" },
    { "--memory", NULL, "the memory plan: which value lies where, and when" },
    { "--cost", NULL, "FLOPs and bytes by kind of kernel, and what depth reads move" },
    { "--json", NULL, "for programs" },
    { "--inference", NULL, "without training" },
    { "--cpu", "NAME", "kernels for that processor, as build takes it (native)" },
    { "-o", "FILE", "written there instead; .svg draws --graph or --memory" },
    { NULL, NULL, NULL },
};

typedef struct Options {
    const char *spec, *output;
    ReportOptions report;
    View view;
    const char *flag;           /* that asked for the view; NULL: none did */
    bool json;
} Options;

typedef void Writer(const Report *r, Text *t);

static const struct { const char *flag; View view; Writer *text, *picture; } views[] = {
    { "--graph", VIEW_GRAPH, report_graph_text, report_graph_svg },
    { "--kernels", VIEW_KERNELS, report_kernels_text, NULL },
    { "--memory", VIEW_MEMORY, report_memory_text, report_memory_svg },
    { "--cost", VIEW_COST, report_cost_text, NULL },
};
enum { VIEWS = sizeof views / sizeof *views };

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
    for (int i = 0; i < VIEWS; i++)
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

static bool is_picture(const Options *o) {
    size_t n = o->output ? strlen(o->output) : 0;
    return n > 4 && !strcmp(o->output + n - 4, ".svg");
}

/* What writes the view that was asked for; NULL if there is no picture of it. */
static Writer *writer_of(const Options *o) {
    Writer *text = report_text, *picture = NULL;
    for (int i = 0; i < VIEWS; i++)
        if (o->flag && views[i].view == o->view) text = views[i].text, picture = views[i].picture;
    if (is_picture(o)) return o->json ? NULL : picture;
    return o->json ? report_json : text;
}

static int check(const Options *o, Error *e) {
    if (!writer_of(o))
        return error_set(e, STATUS_USAGE, "strata inspect: -o: expected --graph or --memory with a picture, found %s",
                         o->json ? "--json" : o->flag ? o->flag : "neither");
    return o->output ? publish_check(o->spec, o->output, NULL, e) : STATUS_OK;
}

int command_inspect(int argc, char **argv, Error *e) {
    Options o;
    int status = parse(&o, argc, argv, e);
    if (!status) status = check(&o, e);
    Report *r = status ? NULL : report_new(o.spec, &o.report, e);
    if (!r) return e->status;
    Text t = { 0 };
    writer_of(&o)(r, &t);
    report_free(r);
    if (!o.output) return console_text(&t, e);
    status = text_status(&t, e);
    if (!status) status = publish_text(o.output, &t, e);
    text_free(&t);
    return status;
}
