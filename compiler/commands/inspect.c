/* SPDX-License-Identifier: MIT
** strata inspect: what the compiler makes of a spec, without compiling it. */
#include "blas_library.h"
#include "command.h"
#include "prefix.h"
#include "console.h"
#include "machine_rates.h"
#include "publish.h"
#include "views.h"

#include <string.h>
#include <strings.h>

typedef struct InspectOptions {
    const char *spec, *output;
    ReportOptions report;
    View view;
    PassId after;     /* whose graph VIEW_AFTER shows */
    const char *flag; /* that asked for the view; NULL: none did */
    const char *blas; /* as build --blas takes it; NULL: its default */
    bool json, overwrite;
} InspectOptions;

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
WRITER(kernels_text)
WRITER(memory_text)
WRITER(memory_svg)
WRITER(cost_text)
WRITER(cost_svg)
WRITER(passes_text)
#undef WRITER

static int write_header(const Report *r, Text *t, Error *e) {
    int status = prefix_check("inspect", NULL, r->model, true, e);
    if (!status) report_header(r, t);
    return status;
}

enum { UNLISTED = -1 }; /* a view that another one's value asks for */

static const struct {
    const char *flag;
    int option;
    View view;
    Writer *text, *json, *picture;
} views[] = {
    { NULL, 0, VIEW_SUMMARY, write_text, write_json, NULL },
    { "--graph", STRATA_OPTION_GRAPH, VIEW_GRAPH, write_graph_text, write_json, write_graph_svg },
    { "--folded", STRATA_OPTION_FOLDED, VIEW_FOLDED, write_graph_folded, write_json, NULL },
    { "--header", STRATA_OPTION_HEADER, VIEW_HEADER, write_header, write_json, NULL },
    { "--kernels", STRATA_OPTION_KERNELS, VIEW_KERNELS, write_kernels_text, write_json, NULL },
    { "--memory", STRATA_OPTION_MEMORY, VIEW_MEMORY, write_memory_text, write_json,
      write_memory_svg },
    { "--cost", STRATA_OPTION_COST, VIEW_COST, write_cost_text, write_json, write_cost_svg },
    { "--matrix", STRATA_OPTION_MATRIX, VIEW_MATRIX, report_matrix_text, report_matrix_json,
      report_matrix_svg },
    { "--passes", STRATA_OPTION_PASSES, VIEW_PASSES, write_passes_text, write_json, NULL },
    { "--graph=after", UNLISTED, VIEW_AFTER, report_after_text, write_json, NULL },
};
enum { VIEWS = sizeof views / sizeof *views };

/* The view that was asked for; of two, an error that names them in the order they were typed. */
static int find_view(InspectOptions *to, const Options *o, Error *e) {
    int found = 0;
    for (int i = 1; i < VIEWS && views[i].option != UNLISTED; i++) {
        int place = option_of(o, views[i].option)->given;
        int before = found ? option_of(o, views[found].option)->given : 0;
        if (place && found)
            return error_set(e, STATUS_USAGE, "strata inspect: expected one view, found %s and %s",
                             views[place < before ? i : found].flag,
                             views[place < before ? found : i].flag);
        if (place) found = i;
    }
    to->view = views[found].view;
    to->flag = views[found].flag;
    const char *after = option_of(o, STRATA_OPTION_GRAPH)->text;
    if (!after) return STATUS_OK;
    to->view = VIEW_AFTER;
    to->flag = "--graph=after";
    return after_pass_parse(after, &to->after, e);
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

static int inspect_take(InspectOptions *to, const Options *o, Error *e) {
    const char *shares = option_of(o, STRATA_OPTION_ROUTED_SHARES)->text;
    const char *lengths = option_of(o, STRATA_OPTION_LENGTHS)->text;
    const char *keep = option_of(o, STRATA_OPTION_MEMORY)->text;
    const char *off = option_of(o, STRATA_OPTION_NO_PASS)->text;
    *to = (InspectOptions){
        .json = option_of(o, STRATA_OPTION_JSON_VIEW)->given,
        .output = option_of(o, STRATA_OPTION_VIEW_FILE)->text,
        .overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given,
        .blas = option_of(o, STRATA_OPTION_BLAS)->text,
        .report = {
            .cpu = option_of(o, STRATA_OPTION_OTHER_CPU)->text,
            .passes = {
                .inference = option_of(o, STRATA_OPTION_UNTRAINED)->given,
                .two_phase = two_phase_named(option_of(o, STRATA_OPTION_PLANNED_TWO_PHASE)->text),
                .keep = keep ? keep_called(keep) : KEEP_AUTO,
            },
        },
    };
    int status = find_view(to, o, e);
    if (!status) status = operands_of(&to->report.passes, "inspect", o, e);
    if (!status && off) status = no_pass_parse("inspect", off, &to->report.passes.off, e);
    if (!status && shares) status = set_shares(&to->report.asked, shares, e);
    if (!status && lengths) status = set_lengths(&to->report.asked, lengths, e);
    return status ? status : spec_of(o, &to->spec, e);
}

static bool is_picture(const InspectOptions *o) {
    size_t n = o->output ? strlen(o->output) : 0;
    return n > 4 && !strcasecmp(o->output + n - 4, ".svg");
}

/* What writes the view that was asked for; NULL if there is no picture of it. */
static Writer *writer_of(const InspectOptions *o) {
    int i = 0;
    while (views[i].view != o->view)
        i++;
    if (is_picture(o)) return o->json ? NULL : views[i].picture;
    return o->json ? views[i].json : views[i].text;
}

#define PICTURE_MARK "<!-- Generated by strata inspect -->\n"

#define TEXT_MARK "# Generated by strata inspect\n"

static bool is_view(const PlaceFile *f, const void *user) {
    (void)user;
    return place_ends(f, PICTURE_MARK) || place_ends(f, TEXT_MARK)
        || (place_begins(f, "{\"strata\": \"") && place_holds(f, "\"spec_file\": \""))
        || (place_begins(f, "{\"spec\": \"") && place_holds(f, "\"depth_mixing\": ["))
        || place_begins(f, "/* SPDX-License-Identifier: MIT\n** Generated by strata ");
}

static FilePlace inspect_place_of(const InspectOptions *o) {
    return (FilePlace){ .path = o->output, .is_own = is_view, .overwrite = o->overwrite };
}

static int inspect_check(const InspectOptions *o, Error *e) {
    const RoutedOptions *asked = &o->report.asked;
    const FilePlace place = inspect_place_of(o);
    if ((asked->shares || asked->lengths) && !o->report.routed)
        return error_set(e, STATUS_USAGE,
                         "strata inspect: %s: expected --cost, or --json alone, with it, found %s",
                         asked->shares ? "--routed-share" : "--length",
                         o->flag ? o->flag : "neither");
    if (place_unread(o->output, o->spec, e)) return e->status;
    const char *foreign = o->output ? place_foreign_ending(o->output) : NULL;
    if (foreign)
        return error_set(e, STATUS_USAGE,
                         "strata inspect: -o: expected .svg, the one format of pictures, found %s",
                         foreign);
    if (!writer_of(o))
        return error_set(e, STATUS_USAGE,
                         "strata inspect: -o: expected --graph, --memory, --cost or --matrix with "
                         "a picture, found %s",
                         o->json       ? "--json"
                             : o->flag ? o->flag
                                       : "neither");
    return o->output ? place_check(&place, e) : STATUS_OK;
}

static int publish_view(const InspectOptions *o, const Model *m, Text *t, Error *e) {
    bool marked = o->json || o->view == VIEW_HEADER; /* by how they begin */
    if (!marked) text_add(t, "%s", is_picture(o) ? PICTURE_MARK : TEXT_MARK);
    const FilePlace place = inspect_place_of(o);
    int status = place_unread_all(o->output, m->read_file, m->nread_file, e);
    if (!status) status = text_status(t, e);
    return status ? status : publish_text(&place, t, e);
}

/* As a build would choose: of a program, or of an object, whose header is asked for. */
static int choose_products(InspectOptions *o, ProductRatios *ratios, Error *e) {
    BlasLibrary library;
    BuildOptions b = { .multiply = multiply_named(o->blas),
                       .code = { .cpu = o->report.cpu,
                                 .passes = o->report.passes,
                                 .emit = o->view == VIEW_HEADER ? EMIT_OBJ : EMIT_EXE } };
    int status = blas_choose(&b, ratios, &library, e);
    o->report.products = b.code.products;
    o->report.ratios = b.code.ratios;
    return status;
}

int command_inspect(const Options *given, Allowance *a, Error *e) {
    InspectOptions o;
    int status = inspect_take(&o, given, e);
    SpecLimits limits = allowance_limits(a);
    o.report.limits = &limits;
    o.report.passes.step = allowance_step(a);
    Rates rates = machine_rates();
    o.report.rates = &rates;
    if (!status) allowance_spec(a, o.spec);
    o.report.routed = o.view == VIEW_COST || (o.json && o.view != VIEW_MATRIX);
    if (o.view == VIEW_AFTER) o.report.after = &o.after;
    ProductRatios ratios;
    if (!status) status = inspect_check(&o, e);
    if (!status) status = choose_products(&o, &ratios, e);
    Report *r = status ? NULL : report_new(o.spec, &o.report, e);
    if (!r) return e->status;
    Text t = { 0 };
    step_note(allowance_step(a), r->model->graph->n, "what is shown of it");
    status = writer_of(&o)(r, &t, e);
    if (!status) status = o.output ? publish_view(&o, r->model, &t, e) : text_status(&t, e);
    report_free(r);
    if (!status && !o.output) return o.json ? console_text(&t, e) : console_lines(&t, e);
    text_free(&t);
    return status;
}
