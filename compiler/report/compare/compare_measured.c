/* SPDX-License-Identifier: MIT
** What was measured, one row per variant: loss at the end, time of a step, memory; then a sentence
** that compares each variant with the baseline.
*/
#include "compare_page.h"
#include "svg.h"

#include <math.h>
#include <string.h>

static void measured_add_head(const Comparison *c, Text *t) {
    text_add(t, "<thead><tr><th scope=\"col\"></th>");
    if (c->text)
        text_add(t,
                 "<th scope=\"col\">validation loss at the end</th><th scope=\"col\">difference, "
                 "95 %% interval</th>");
    if (c->rounds)
        text_add(t,
                 "<th scope=\"col\">training step</th><th scope=\"col\">difference, 95 %% "
                 "interval</th><th scope=\"col\">tokens per second</th><th scope=\"col\">peak "
                 "memory</th>");
    if (c->text && compare_loss_differs(c, c->variant))
        text_add(t, "<th scope=\"col\">time to the baseline's lowest</th>");
    if (c->rates) text_add(t, "<th scope=\"col\">best rate</th>");
    if (compare_any_routes(c))
        text_add(t, "<th scope=\"col\">tokens that routes take at the end</th>");
    text_add(t, "</tr></thead><tbody>\n");
}

/* "+0.0073 −0.02 to +0.04: no difference detected" */
static void add_interval(const Comparison *c, const Variant *v, Family f, Text *t) {
    Estimate e = compare_difference_of(c, v, f);
    bool loss = f == FAMILY_LOSS;
    const char *one = loss ? "%+.4f" : "%+.1f %%",
               *both = loss ? "%+.4f to %+.4f" : "%+.1f to %+.1f %%";
    double unit = loss ? 1 : 100;
    if (v == c->variant) {
        text_add(t, "<td>baseline</td>");
        return;
    }
    text_add(t, compare_detected(c, v, f) ? "<td>" : "<td class=\"noise\">");
    text_add(t, one, unit * e.mean);
    if (e.known) {
        text_add(t, " <small>");
        text_add(t, both, unit * e.low, unit * e.high);
        text_add(t, "%s</small>", compare_detected(c, v, f) ? "" : " \xe2\x89\x88");
    }
    text_add(t, "</td>");
}

static void add_match(const Comparison *c, const Variant *v, Text *t) {
    TrainingResult x = compare_trained(c, v);
    if (!compare_loss_differs(c, c->variant)) return;
    if (!x.matched) text_add(t, "<td>never</td>");
    else
        text_add(t, "<td>%s s <small>%d of %d seeds</small></td>", FIGURES(x.seconds.mean, 3),
                 x.matched, c->seeds);
}

static void add_loss(const Comparison *c, const Variant *v, Text *t) {
    TrainingResult x = compare_trained(c, v);
    text_add(t, "<td>%.4f", x.end.mean);
    if (x.end.known) text_add(t, " <small>\xc2\xb1%.4f</small>", x.end.deviation);
    text_add(t, "</td>");
    add_interval(c, v, FAMILY_LOSS, t);
}

static void add_time(const Comparison *c, const Variant *v, Text *t) {
    double seconds = stats_median(v->timing.seconds, c->rounds);
    char step[32], rate[32], memory[32];
    text_add(t, "<td>%s</td>", compare_number(step, UNIT_SECONDS, seconds));
    add_interval(c, v, FAMILY_TIME, t);
    text_add(t, "<td>%s</td><td>%s</td>",
             compare_number(rate, UNIT_COUNT, v->timing.tokens / seconds),
             compare_number(memory, UNIT_BYTES, v->timing.memory));
}

static void measured_add_row(const Comparison *c, const Variant *v, Text *t) {
    text_add(t, "<tr><th scope=\"row\">");
    svg_escaped(t, v->label);
    text_add(t, "</th>");
    if (c->text) add_loss(c, v, t);
    if (c->rounds) add_time(c, v, t);
    if (c->text) add_match(c, v, t);
    if (c->rates) text_add(t, "<td>%.6g</td>", v->lr);
    if (compare_any_routes(c)) {
        double share = compare_trained(c, v).routed.mean;
        if (isfinite(share)) text_add(t, "<td>%.1f %%</td>", 100 * share);
        else text_add(t, "<td>-</td>");
    }
    text_add(t, "</tr>\n");
}

static void measured_add_words(const Comparison *c, Text *t) {
    text_add(t, "<div class=\"verdict\">\n");
    for (int i = 1; i < c->n; i++) {
        Text first = { 0 }, rest = { 0 };
        compare_answer(c, &c->variant[i], &first, &rest);
        if (first.failed || rest.failed) t->failed = true;
        size_t name = strlen(c->variant[i].label);
        text_add(t, "<p><strong>");
        svg_escaped(t, c->variant[i].label);
        text_add(t, "</strong>");
        svg_escaped(t, first.length > name ? first.at + name : "");
        text_add(t, " <span>");
        svg_escaped(t, rest.at ? rest.at : "");
        text_add(t, "</span></p>\n");
        text_free(&first), text_free(&rest);
    }
    text_add(t, "</div>\n");
}

static void add_note(const Comparison *c, void (*write)(const Comparison *, Text *), Text *t) {
    Text note = { 0 };
    write(c, &note);
    if (note.failed) t->failed = true;
    if (note.length) {
        text_add(t, "<p>");
        svg_escaped(t, note.at);
        text_add(t, "</p>\n");
    }
    text_free(&note);
}

void page_measured(const Comparison *c, Text *t) {
    char note[512];
    bool any = c->text || c->rounds;
    print_text(
        note, sizeof note, "%s%s\xe2\x89\x88: no difference was detected among %d comparison%s.",
        c->text ? "Losses are means over seeds, \xc2\xb1 their deviation, after the last "
                  "step, of all of the validation text; differences are those of the same "
                  "seeds. "
                : "",
        c->rounds ? "Steps are medians of rounds that took turns; memory is the process's. " : "",
        c->n - 1, c->n > 2 ? "s" : "");
    page_heading(t, any ? "Measured" : "Variants", any ? note : "Each against the baseline.");
    if (any) {
        page_table(t, "Measured");
        measured_add_head(c, t);
        for (int i = 0; i < c->n; i++)
            measured_add_row(c, &c->variant[i], t);
        page_table_end(t);
    }
    measured_add_words(c, t);
    add_note(c, compare_swept_note, t);
    add_note(c, compare_idle_note, t);
}
