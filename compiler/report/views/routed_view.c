/* SPDX-License-Identifier: MIT
** How much of a model's work and cache remains with routes, by length: a table, and JSON.
*/
#include "routed.h"
#include "views.h"

#include <inttypes.h>
#include <math.h>

#include "console.h"

/* == Text ================================================================= */

static void cell(Text *t, int width, int digits, double value) {
    if (isfinite(value)) text_add(t, "%*.*f", width, digits, value);
    else text_add(t, "%*s", width, "-");
}

static void cell_bytes(Text *t, int width, double bytes) {
    char text[32];
    text_add(t, "%*s", width, isfinite(bytes) ? human_bytes(text, bytes) : "-");
}

static void view_add_line(const Report *r, Text *t, int64_t length, double share) {
    RoutedCost c = routed_cost(r, length, share);
    text_add(t, "%10" PRId64, length);
    for (int i = 0; i < (r->training ? COUNTINGS : COUNT_TRAINING); i++)
        cell(t, i ? 11 : 13, 4, c.flops_of_dense[i]);
    cell_bytes(t, 14, c.published_bytes);
    cell_bytes(t, 11, c.held_bytes);
    cell(t, 11, 4, c.bytes_of_dense);
    text_add(t, "\n");
}

static void view_add_table(const Report *r, Text *t, double share) {
    char routed[96];
    int known, n = routed_lists(r, &known);
    routed_share_text(r, share, routed, sizeof routed);
    text_add(t, "\n%d route%s: %s; against the same spec without routes\n", n, n > 1 ? "s" : "",
             routed);
    text_add(t, "%10s%13s%*s\n", "", "FLOPs", r->training ? 51 : 40, "keys and values");
    text_add(t, "%10s%13s%11s", "tokens", "published", "executed");
    if (r->training) text_add(t, "%11s", "training");
    text_add(t, "%14s%11s%11s\n", "published", "held", "of dense");
    for (int i = 0; i < r->asked.lengths; i++)
        view_add_line(r, t, r->asked.length[i], share);
}

void report_routed_text(const Report *r, Text *t) {
    if (!r->dense) return;
    for (int i = 0; i < r->asked.shares; i++)
        view_add_table(r, t, r->asked.share[i]);
    text_add(t,
             "\npublished    attention n x n, products of layers and routers, no embedding, no "
             "head; numbers of 2 bytes\n"
             "executed     every operation of our kernels: causal pairs, row operations, the head; "
             "reading, in the form that generates\n");
    if (r->training) text_add(t, "training     the same of a training step\n");
    text_add(t, "held         float32, a sequence's, as generating keeps them\n");
    const char *site = r->model->ahead ? r->model->ahead : r->model->acausal;
    if (site)
        text_add(t,
                 "no keys and values are kept: %s looks at later tokens, so the model does not "
                 "generate\n",
                 site);
}

/* == JSON ================================================================= */

static void view_number(Text *t, const char *before, const char *name, double value) {
    text_add(t, "%s\"%s\": ", before, name);
    text_json_number(t, value);
}

static void add_countings(const Report *r, Text *t, const char *name, const double *value) {
    text_add(t, ", \"%s\": {", name);
    view_number(t, "", "published", value[COUNT_PUBLISHED]);
    view_number(t, ", ", "executed", value[COUNT_EXECUTED]);
    if (r->training) view_number(t, ", ", "training", value[COUNT_TRAINING]);
    text_add(t, "}");
}

/* A share of null: each route's own. */
static void add_object(const Report *r, Text *t, int64_t length, double share) {
    RoutedCost c = routed_cost(r, length, share);
    view_number(t, "\n   {", "share", share);
    text_add(t, ", \"length\": %" PRId64, length);
    add_countings(r, t, "flops", c.flops);
    add_countings(r, t, "flops_of_dense", c.flops_of_dense);
    view_number(t, ", \"cache_bytes\": {", "published", c.published_bytes);
    view_number(t, ", ", "held", c.held_bytes);
    view_number(t, "}, ", "cache_of_dense", c.bytes_of_dense);
    text_add(t, "}");
}

void report_routed_json(const Report *r, Text *t) {
    const char *between = "";
    text_add(t, "\"routed\": {\"routes\": [");
    for (int i = 1; i <= r->lists; i++) {
        text_add(t, "%s\n   {\"site\": ", between);
        text_json_string(t, r->list[i].site);
        view_number(t, ", ", "share", r->list[i].own);
        text_add(t, "}");
        between = ",";
    }
    view_number(t, "],\n  ", "assumed", routed_usual);
    text_add(t, ",\n  \"parameters_of_dense\": %" PRId64 ",\n  \"costs\": [",
             r->dense->model->parameters);
    for (int s = 0; s < r->asked.shares; s++)
        for (int i = 0; i < r->asked.lengths; i++) {
            if (s || i) text_add(t, ",");
            add_object(r, t, r->asked.length[i], r->asked.share[s]);
        }
    text_add(t, "]}");
}
