/* The kernel table of a comparison's page: a group of rows a role, a row a variant. */
#include "compare_page.h"
#include "svg.h"

#include <math.h>
#include <stdlib.h>

static void add_cell(Text *t, Unit unit, double value) {
    char number[32];
    text_add(t, "<td>%s</td>", compare_number(number, unit, value));
}

static void add_difference(Text *t, double value, double base) {
    char text[32];
    text_add(t, "<td><small>%s</small></td>", compare_difference(text, value, base));
}

/* What the machine could do, a mean over the variants' rounds. */
static double machine(const Comparison *c, bool peak) {
    double sum = 0;
    for (int i = 0; i < c->n; i++) sum += peak ? c->variant[i].timing.peak : c->variant[i].timing.bandwidth;
    return sum / c->n;
}

static void add_times(const Comparison *c, const RoleWork *w, const RoleWork *base, int variant, Text *t) {
    double tokens = c->variant[variant].timing.tokens, flops = tokens * w->work[TRAINING].flops / w->seconds;
    double bytes = tokens * w->work[TRAINING].bytes / w->seconds, roof = fmax(flops / machine(c, true), bytes / machine(c, false));
    add_cell(t, UNIT_SECONDS, w->seconds);
    add_difference(t, variant ? w->seconds : NAN, base->seconds);
    add_cell(t, UNIT_COUNT, 1e-9 * flops);
    add_cell(t, UNIT_COUNT, 1e-9 * bytes);
    if (isfinite(roof)) text_add(t, "<td>%.0f %%</td>", 100 * roof);
    else text_add(t, "<td>-</td>");
}

static void add_row(const Comparison *c, const Role *r, int variant, Text *t) {
    const RoleWork *w = &r->of[variant], *base = &r->of[0];
    const Work *own = &w->work[TRAINING];
    text_add(t, "<tr><th scope=\"row\">");
    svg_escaped(t, c->variant[variant].label);
    text_add(t, "</th>");
    if (!w->kernels) {
        text_add(t, "<td>none</td></tr>\n");
        return;
    }
    add_cell(t, UNIT_COUNT, w->kernels);
    add_cell(t, UNIT_COUNT, own->calls);
    add_cell(t, UNIT_COUNT, own->flops);
    add_cell(t, UNIT_BYTES, own->bytes);
    add_difference(t, variant && base->kernels ? own->bytes : NAN, base->work[TRAINING].bytes);
    if (c->rounds) add_times(c, w, base, variant, t);
    text_add(t, "</tr>\n");
}

static void add_role(const Comparison *c, const Role *r, Text *t) {
    text_add(t, "<tbody%s><tr><th scope=\"rowgroup\" colspan=\"%d\">", role_differs(c, r) ? " class=\"differs\"" : "",
             c->rounds ? 11 : 6);
    svg_escaped(t, r->name);
    text_add(t, " <small>%s</small></th></tr>\n", r->family);
    for (int i = 0; i < c->n; i++) add_row(c, r, i, t);
    text_add(t, "</tbody>\n");
}

void page_kernels(const Comparison *c, Text *t) {
    int n;
    Role *role = compare_roles(c, &n);
    if (!role) t->failed = true;
    page_heading(t, "Kernels", "A token of a training step, all calls together. Row kernels are gathered by where in the model they work; a mark at the left: "
                               "the variants differ.");
    page_table(t, "Kernels");
    text_add(t, "<thead><tr><th scope=\"col\"></th><th scope=\"col\">kernels</th><th scope=\"col\">calls</th><th scope=\"col\">FLOPs</th>"
                "<th scope=\"col\">bytes</th><th scope=\"col\">difference</th>");
    if (c->rounds)
        text_add(t, "<th scope=\"col\">time a step</th><th scope=\"col\">difference</th><th scope=\"col\">GFLOP/s</th><th scope=\"col\">GB/s</th>"
                    "<th scope=\"col\">share of roof</th>");
    text_add(t, "</tr></thead>\n");
    for (int i = 0; role && i < n; i++) add_role(c, &role[i], t);
    page_table_end(t);
    free(role);
}
