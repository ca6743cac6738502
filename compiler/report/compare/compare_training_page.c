/* SPDX-License-Identifier: MIT
** Training on a comparison's page: curves (compare_curves.c) and what they came to. */
#include "compare_page.h"
#include "svg.h"

#include <math.h>

static void add_match(const Comparison *c, int i, const TrainingResult *x, Text *t) {
    if (!compare_loss_differs(c, &c->variant[i])) text_add(t, "<td>-</td>");
    else if (x->matched)
        text_add(t, "<td>%.3g s <small>%d of %d seeds</small></td>", x->seconds.mean, x->matched,
                 c->seeds);
    else text_add(t, "<td>not reached</td>");
}

static void add_result(const Comparison *c, int i, Text *t) {
    TrainingResult x = compare_trained(c, &c->variant[i]);
    text_add(t, "<tr><th scope=\"row\">");
    svg_escaped(t, c->variant[i].label);
    text_add(t, "</th><td>%.4f</td>", x.end.mean);
    text_add(t, x.end.known ? "<td>%.4f</td>" : "<td>-</td>", x.end.deviation);
    if (!i) text_add(t, "<td>baseline</td>");
    else if (!x.difference.known) text_add(t, "<td>%+.4f</td>", x.difference.mean);
    else
        text_add(t, "<td>%+.4f <small>%+.4f to %+.4f%s</small></td>", x.difference.mean,
                 x.difference.low, x.difference.high,
                 stats_covers_zero(&x.difference) ? ": no difference detected" : "");
    if (compare_loss_differs(c, c->variant)) add_match(c, i, &x, t);
    if (isfinite(x.routed.mean)) text_add(t, "<td>%.1f %%</td>", 100 * x.routed.mean);
    else if (compare_any_routes(c)) text_add(t, "<td>-</td>");
    text_add(t, "</tr>\n");
}

static void add_results(const Comparison *c, Text *t) {
    page_table(t, "Training");
    text_add(
        t,
        "<thead><tr><th scope=\"col\"></th><th scope=\"col\">validation loss at the end</th><th "
        "scope=\"col\">deviation over seeds</th>"
        "<th scope=\"col\">paired difference, 95 %% interval</th>%s%s</tr></thead><tbody>\n",
        compare_loss_differs(c, c->variant) ? "<th scope=\"col\">time to the baseline's lowest</th>"
                                            : "",
        compare_any_routes(c) ? "<th scope=\"col\">tokens that routes take at the end</th>" : "");
    for (int i = 0; i < c->n; i++)
        add_result(c, i, t);
    page_table_end(t);
}

void page_training(const Comparison *c, Text *t) {
    char note[640];
    if (!c->text) return;
    print_text(note, sizeof note,
               "Lines: training loss, a mean over seeds, with a band from the lowest seed to the "
               "highest. Dots: validation loss, some of its values; the difference has all. "
               "A seed gives initial weights and order of the data, the same for all variants; "
               "evaluations take no time here, and %s.",
               compare_times_measured(c)
                   ? "a step takes what --measure found, in turns with the other variants"
                   : "a step of more than four times the median takes the median");
    page_heading(t, "Training", note);
    page_curves(c, t);
    add_results(c, t);
}
