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
    text_add(t, "</tr>\n");
}

static void add_role(const Comparison *c, const Role *r, Text *t) {
    text_add(t, "<tbody%s><tr><th scope=\"rowgroup\" colspan=\"6\">", role_differs(c, r) ? " class=\"differs\"" : "");
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
                "<th scope=\"col\">bytes</th><th scope=\"col\">difference</th></tr></thead>\n");
    for (int i = 0; role && i < n; i++) add_role(c, &role[i], t);
    page_table_end(t);
    free(role);
}
