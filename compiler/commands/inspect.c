/* strata inspect: what the compiler makes of a spec, without compiling it. */
#include "command.h"
#include "console.h"
#include "publish.h"
#include "views.h"

#include <string.h>

const Flag inspect_flags[] = {
    { "--graph", NULL,
      "the graph of primitive operations; as a picture, the kernels of a forward pass" },
    { "--folded", NULL, "the graph with equal layers written once" },
    { "--kernels", NULL, "every kernel, operation by operation, with the spec's lines" },
    { "--memory", "=small|fast|auto",
      "the memory plan: which value lies where, and when; as build --memory makes it" },
    { "--cost", NULL,
      "FLOPs and bytes by kind of kernel, and what depth reads move; what routes leave of work and "
      "cache" },
    { "--routed-share", "S,...",
      "with --cost or --json: the shares of the tokens that routes take (their own, else 0.1)" },
    { "--length", "N,...",
      "with --cost or --json: tokens of the sequences that routes are counted for" },
    { "--header", NULL, "the C header that build writes beside an object" },
    { "--matrix", NULL, "the depth-mixing matrix: which read takes which source, and its rank" },
    { "--json", NULL, "for programs" },
    { "--inference", NULL, "without training" },
    { "--two-phase", "on|off|auto", "two-phase depth reads, as build takes it (auto)" },
    { "--cpu", "NAME", "kernels for that processor, as build takes it (native)" },
    { "-o", "FILE", "written there instead; .svg draws --graph, --memory, --cost or --matrix" },
    { NULL, NULL, NULL },
};

typedef struct Options {
    const char *spec, *output;
    ReportOptions report;
    View view;
    const char *flag; /* that asked for the view; NULL: none did */
    bool json;
} Options;

typedef int Writer(const Report *r, Text *t, Error *e);

/* Views that cannot fail, as those that can. */
#define WRITER(name)                                              \
    static int write_##name(const Report *r, Text *t, Error *e) { \
        return (void)e, report_##name(r, t), STATUS_OK;           \
    }
WRITER(text)
WRITER(json)
WRITER(graph_text)
WRITER(graph_svg)
WRITER(graph_folded)
WRITER(header)
WRITER(kernels_text)
WRITER(memory_text)
WRITER(memory_svg)
WRITER(cost_text)
#undef WRITER

static const struct {
    const char *flag;
    View view;
    Writer *text, *json, *picture;
} views[] = {
    { NULL, VIEW_SUMMARY, write_text, write_json, NULL },
    { "--graph", VIEW_GRAPH, write_graph_text, write_json, write_graph_svg },
    { "--folded", VIEW_FOLDED, write_graph_folded, write_json, NULL },
    { "--header", VIEW_HEADER, write_header, write_json, NULL },
    { "--kernels", VIEW_KERNELS, write_kernels_text, write_json, NULL },
    { "--memory", VIEW_MEMORY, write_memory_text, write_json, write_memory_svg },
    { "--cost", VIEW_COST, write_cost_text, write_json, report_routed_svg },
    { "--matrix", VIEW_MATRIX, report_matrix_text, report_matrix_json, report_matrix_svg },
};
enum { VIEWS = sizeof views / sizeof *views };

static int set_view(Options *o, View v, const char *flag, Error *e) {
    if (o->flag && o->view != v)
        return error_set(e, STATUS_USAGE, "strata inspect: expected one view, found %s and %s",
                         o->flag, flag);
    o->view = v;
    o->flag = flag;
    return STATUS_OK;
}

/* The next word of a list with commas; what is longer than a number can be is none. */
static const char *next_word(const char *at, char word[32]) {
    size_t n = strcspn(at, ",");
    print_text(word, 32, "%.*s", n < 32 ? (int)n : 0, at);
    return at[n] ? at + n + 1 : NULL;
}

static int set_shares(RoutedOptions *o, const char *value, Error *e) {
    o->shares = 0;
    for (const char *at = value; at;) {
        char word[32];
        at = next_word(at, word);
        if (o->shares == ROUTED_SHARES || !parse_double(word, 0, 1, &o->share[o->shares++]))
            return error_set(e, STATUS_USAGE,
                             "strata inspect: --routed-share: expected %d numbers from 0 to 1 at "
                             "most, with commas, found '%s'",
                             ROUTED_SHARES, value);
    }
    return STATUS_OK;
}

static int set_lengths(RoutedOptions *o, const char *value, Error *e) {
    o->lengths = 0;
    for (const char *at = value; at;) {
        char word[32];
        at = next_word(at, word);
        if (o->lengths == ROUTED_LENGTHS
            || !parse_int64(word, 1, INT32_MAX, &o->length[o->lengths++]))
            return error_set(e, STATUS_USAGE,
                             "strata inspect: --length: expected %d whole numbers from 1 to %d at "
                             "most, with commas, found '%s'",
                             ROUTED_LENGTHS, INT32_MAX, value);
    }
    return STATUS_OK;
}

static int set(Options *o, const char *name, const char *value, Error *e) {
    if (!strcmp(name, "--json")) o->json = true;
    else if (!strcmp(name, "--inference")) o->report.inference = true;
    else if (!strcmp(name, "--two-phase")) o->report.two_phase = two_phase_named(value);
    else if (!strcmp(name, "--cpu")) o->report.cpu = value;
    else if (!strcmp(name, "-o")) o->output = value;
    else if (!strcmp(name, "--memory") && value) o->report.keep = keep_called(value);
    else if (!strcmp(name, "--routed-share")) return set_shares(&o->report.asked, value, e);
    else if (!strcmp(name, "--length")) return set_lengths(&o->report.asked, value, e);
    for (int i = 0; i < VIEWS; i++)
        if (views[i].flag && !strcmp(name, views[i].flag))
            return set_view(o, views[i].view, views[i].flag, e);
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
            status = error_set(e, STATUS_USAGE, "strata inspect: expected one spec, found '%s' too",
                               argv[i]);
        } else {
            o->spec = argv[i];
        }
        if (status) return status;
    }
    return o->spec ? STATUS_OK
                   : error_set(e, STATUS_USAGE, "strata inspect: expected a spec, found nothing");
}

static bool is_picture(const Options *o) {
    size_t n = o->output ? strlen(o->output) : 0;
    return n > 4 && !strcmp(o->output + n - 4, ".svg");
}

/* What writes the view that was asked for; NULL if there is no picture of it. */
static Writer *writer_of(const Options *o) {
    int i = 0;
    while (views[i].view != o->view)
        i++;
    if (is_picture(o)) return o->json ? NULL : views[i].picture;
    return o->json ? views[i].json : views[i].text;
}

static int check(const Options *o, Error *e) {
    const RoutedOptions *asked = &o->report.asked;
    if ((asked->shares || asked->lengths) && !o->report.routed)
        return error_set(e, STATUS_USAGE,
                         "strata inspect: %s: expected --cost, or --json alone, with it, found %s",
                         asked->shares ? "--routed-share" : "--length",
                         o->flag ? o->flag : "neither");
    if (!writer_of(o))
        return error_set(e, STATUS_USAGE,
                         "strata inspect: -o: expected --graph, --memory, --cost or --matrix with "
                         "a picture, found %s",
                         o->json       ? "--json"
                             : o->flag ? o->flag
                                       : "neither");
    return o->output ? publish_check(o->spec, o->output, NULL, e) : STATUS_OK;
}

int command_inspect(int argc, char **argv, Error *e) {
    Options o;
    int status = parse(&o, argc, argv, e);
    o.report.routed = o.view == VIEW_COST || (o.json && o.view != VIEW_MATRIX);
    if (!status) status = check(&o, e);
    Report *r = status ? NULL : report_new(o.spec, &o.report, e);
    if (!r) return e->status;
    Text t = { 0 };
    status = writer_of(&o)(r, &t, e);
    report_free(r);
    if (!status) status = text_status(&t, e);
    if (!status)
        status = o.output ? publish_text(o.output, &t, e) : console_write(t.at, t.length, NULL, e);
    text_free(&t);
    return status;
}
