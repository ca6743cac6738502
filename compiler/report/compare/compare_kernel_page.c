/* SPDX-License-Identifier: MIT
** The kernel table of a comparison's page: one group of rows per role, one row per variant.  Roles
** that take little time, or do the same work in all variants, are folded away.
*/
#include "compare_page.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

static void add_cell(Text *t, Unit unit, double value) {
    char number[32];
    text_add(t, "<td>%s</td>", compare_number(number, unit, value));
}

static void page_add_difference(Text *t, double value, double base) {
    char text[32];
    text_add(t, "<td><small>%s</small></td>", compare_difference(text, value, base));
}

/* What the machine could do, a mean over the variants' rounds. */
static double machine(const Comparison *c, bool peak) {
    double sum = 0;
    for (int i = 0; i < c->n; i++)
        sum += peak ? c->variant[i].timing.peak : c->variant[i].timing.bandwidth;
    return sum / c->n;
}

/* Faster than memory: its operands lie in cache.  Faster than the arithmetic that was measured:
** something else ran meanwhile. */
static void add_roof(double arithmetic, double traffic, Text *t) {
    if (!isfinite(arithmetic) || !isfinite(traffic)) text_add(t, "<td>-</td>");
    else if (arithmetic > 1) text_add(t, "<td>above peak</td>");
    else if (traffic > 1) text_add(t, "<td>in cache</td>");
    else text_add(t, "<td>%.0f %%</td>", 100 * fmax(arithmetic, traffic));
}

static void add_slower(const RoleWork *w, Text *t) {
    char difference[32];
    role_slower(difference, w);
    if (*difference == '~')
        text_add(t,
                 "<td class=\"noise\" title=\"no difference detected: %+.0f to %+.0f %%\">"
                 "\xe2\x89\x88</td>",
                 100 * w->slower.low, 100 * w->slower.high);
    else text_add(t, "<td><small>%s</small></td>", difference);
}

static void add_times(const Comparison *c, const RoleWork *w, int variant, Text *t) {
    double tokens = c->variant[variant].timing.tokens,
           flops = tokens * w->work[TRAINING].flops / w->seconds,
           bytes = tokens * w->work[TRAINING].bytes / w->seconds;
    char number[32];
    bool noise = variant && isfinite(w->slower.mean) && stats_covers_zero(&w->slower);
    text_add(t, "<td%s>%s", noise ? " class=\"noise\"" : "",
             compare_number(number, UNIT_SECONDS, w->seconds));
    if (c->rounds > 1 && isfinite(w->spread))
        text_add(t, " <small>\xc2\xb1%.0f %%</small>", 100 * w->spread);
    text_add(t, "</td>");
    add_slower(w, t);
    text_add(t, "<td class=\"rate\">%s</td>", compare_number(number, UNIT_COUNT, 1e-9 * flops));
    text_add(t, "<td class=\"rate\">%s</td>", compare_number(number, UNIT_COUNT, 1e-9 * bytes));
    add_roof(flops / machine(c, true), bytes / machine(c, false), t);
}

static void page_add_row(const Comparison *c, const Role *r, int variant, Text *t) {
    const RoleWork *w = &r->of[variant], *base = &r->of[0];
    const Work *own = &w->work[TRAINING];
    text_add(t, "<tr><th scope=\"row\">");
    svg_escaped(t, c->variant[variant].label);
    text_add(t, "</th>");
    if (!w->kernels) {
        text_add(t, "<td>none</td><td colspan=\"%d\"></td></tr>\n", c->rounds ? 9 : 4);
        return;
    }
    add_cell(t, UNIT_COUNT, w->kernels);
    add_cell(t, UNIT_COUNT, own->calls);
    add_cell(t, UNIT_COUNT, own->flops);
    add_cell(t, UNIT_BYTES, own->bytes);
    page_add_difference(t, variant && base->kernels ? own->bytes : NAN, base->work[TRAINING].bytes);
    if (c->rounds) add_times(c, w, variant, t);
    text_add(t, "</tr>\n");
}

static void add_role(const Comparison *c, const Role *r, Text *t) {
    text_add(t, "<tr><th scope=\"rowgroup\" colspan=\"%d\">", c->rounds ? 11 : 6);
    svg_escaped(t, r->name);
    text_add(t, " <small>%s</small></th></tr>\n", r->family);
    for (int i = 0; i < c->n; i++)
        page_add_row(c, r, i, t);
}

static void page_add_table(const Comparison *c, const Role *role, int n, RoleGroup group,
                           const char *label, Text *t) {
    page_table(t, label);
    text_add(t,
             "<thead><tr><th scope=\"col\"></th><th scope=\"col\">kernels</th><th "
             "scope=\"col\">calls</th><th scope=\"col\">FLOPs per token</th>"
             "<th scope=\"col\">bytes per token</th><th scope=\"col\">difference</th>");
    if (c->rounds)
        text_add(t,
                 "<th scope=\"col\">time per step</th><th scope=\"col\">difference</th><th "
                 "class=\"rate\" scope=\"col\">GFLOP/s</th><th class=\"rate\" "
                 "scope=\"col\">GB/s</th>"
                 "<th scope=\"col\">share of roof</th>");
    text_add(t, "</tr></thead>\n<tbody>");
    for (int i = 0, groups = 0; i < n; i++) {
        if (role[i].group != group) continue;
        if (groups++) text_add(t, "</tbody>\n<tbody>");
        add_role(c, &role[i], t);
    }
    page_table_end(t);
}

static const char *kernels_note(const Comparison *c) {
    return c->rounds
        ? "A token of a training step, all calls together, what takes most of the time first. Row "
          "kernels are gathered by where in the model they work. Times are medians of rounds, "
          "\xc2\xb1 half of what the middle eight tenths of them span; grey and "
          "\xe2\x89\x88: no difference to the baseline was detected; kernels that do the same "
          "work have none. In cache: faster than memory, of which it needs none."
        : "A token of a training step, all calls together, what should take most of the time "
          "first. Row kernels are gathered by where in the model they work.";
}

static int page_count_of(const Role *role, int n, RoleGroup group) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += role[i].group == group;
    return count;
}

/* what: of one kind of kernels, and of several */
static void add_folded(const Comparison *c, const Role *role, int n, RoleGroup group,
                       const char *const what[2], Text *t) {
    int some = page_count_of(role, n, group);
    if (!some) return;
    text_add(t, "<details><summary>%d kind%s of kernels %s</summary>\n", some, some > 1 ? "s" : "",
             what[some > 1]);
    page_add_table(c, role, n, group, what[1], t);
    text_add(t, "</details>\n");
}

static const char *const page_same[] = { "does the same work in all variants",
                                         "do the same work in all variants" },
                         *const measured[] = { "differs as well, but takes less than 1 % of a step",
                                               "differ as well, but take less than 1 % of a step "
                                               "together" },
                         *const predicted[] = {
                             "differs as well, but should take less than 1 % of a step",
                             "differ as well, but should take less than 1 % of a step "
                             "together"
                         };

void page_kernels(const Comparison *c, Text *t) {
    int n;
    Role *role = compare_roles(c, &n);
    page_heading(t, "Kernels", kernels_note(c));
    if (!role) {
        t->failed = true;
        return;
    }
    compare_roles_sort(c, role, n);
    if (page_count_of(role, n, ROLE_LARGE))
        page_add_table(c, role, n, ROLE_LARGE, "Kernels that differ", t);
    add_folded(c, role, n, ROLE_SMALL, c->rounds ? measured : predicted, t);
    add_folded(c, role, n, ROLE_SAME, page_same, t);
    free(role);
}
