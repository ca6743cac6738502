/* SPDX-License-Identifier: MIT
** Plots the variants of a comparison; see compare_page.h.
*/
#include "compare_page.h"

#include "svg.h"

const char *page_dash(int variant) {
    static const char *const dash[] = { "", "6 3", "2 3" };
    return dash[variant / SVG_COLOURS % 3];
}

void page_variant_keys(const Comparison *c, Text *t) {
    text_add(t, "<ul class=\"keys\">\n");
    for (int i = 0; i < c->n; i++) {
        text_add(t,
                 "<li><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path "
                 "style=\"stroke:var(--c%d);stroke-width:4\" stroke-dasharray=\"%s\" "
                 "d=\"M0 5h28\"/></svg>",
                 i % SVG_COLOURS, page_dash(i));
        svg_escaped(t, c->variant[i].label);
        text_add(t, "</li>\n");
    }
    text_add(t, "</ul>\n");
}
